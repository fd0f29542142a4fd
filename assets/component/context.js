// The context of one position: groups of tokens with brackets and labels, and the formula with the tokens filled in.
// Every text is set with textContent, so token text can hold anything and stays literal.

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function isDark(node) {
  const colour = getComputedStyle(node.host ?? node).getPropertyValue("--st-background-color").trim()
  const hex = /^#([0-9a-f]{6})$/i.exec(colour)
  const n = hex ? parseInt(hex[1], 16) : 0
  const rgb = hex ? [n >> 16, (n >> 8) & 255, n & 255] : (colour.match(/\d+/g) ?? [255, 255, 255]).map(Number)
  return 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] < 128
}

function chipNode(token, setTriggerValue) {
  const node = element(token.t === null ? "span" : "button", "chip")
  for (const part of token.parts) node.append(element("span", part.mark ? "mark" : "", part.text))
  if (token.t !== null) {
    node.type = "button"
    node.setAttribute("aria-label", token.label)
    node.onclick = () => setTriggerValue("picked", token.t)
  }
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".context-view")
  if (!root || !data) return
  const palette = isDark(parentElement) ? data.dark : data.light
  for (const [name, colour] of Object.entries(palette)) root.style.setProperty(`--${name}`, colour)
  root.querySelector(".filled").replaceChildren(...data.filled.map(([text, kind]) => element("span", kind, text)))
  const list = root.querySelector(".groups")
  const buttons = [...list.querySelectorAll("button")]
  const at = buttons.indexOf(parentElement.activeElement)
  list.replaceChildren(
    ...data.groups.map((group) => {
      const item = element("li", group.kind)
      const tokens = element("div", "tokens")
      tokens.append(...group.tokens.map((token) => chipNode(token, setTriggerValue)))
      const bracket = element("div", "bracket")
      bracket.setAttribute("aria-hidden", "true")
      item.append(tokens, bracket, element("div", "label", group.label))
      return item
    }),
  )
  if (at >= 0) list.querySelectorAll("button")[at]?.focus()
}
