// The context of one position: groups of tokens with brackets and labels, and the formula with the tokens filled in.
// Every text is set with textContent, so token text can hold anything and stays literal.

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
  paint(root, parentElement, data)
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
