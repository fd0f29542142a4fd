// The token strip: verified context, one card per candidate, the facts and the sentence below.
// Every text is set with textContent, so token text can hold anything and stays literal.

function tokenNode(parts) {
  // A word that is a little too long for a card is set smaller, rather than broken.
  const length = parts.reduce((sum, part) => sum + [...part.text].length, 0)
  const node = element("div", length > 12 ? "token longer" : length > 9 ? "token long" : "token")
  for (const part of parts) node.append(element("span", part.mark ? "mark" : "", part.text))
  return node
}

function ruleNode(card) {
  const node = element("div", "rule")
  node.setAttribute("aria-hidden", "true")
  node.append(element("div", "axis"))
  const bar = element("div", "bar")
  bar.style.width = `${100 * card.bar}%`
  node.append(bar)
  if (card.level !== null) {
    const at = Math.max(0, Math.min(1, card.level))
    const mark = element("div", "r" + (at > 0.72 ? " right" : at < 0.28 ? " left" : ""))
    mark.style.left = `${100 * at}%`
    mark.append(element("span", "", card.level_label))
    node.append(mark)
  }
  return node
}

function cardNode(card, clickable) {
  const node = element(clickable ? "button" : "div", `card ${card.state}`)
  if (clickable) node.type = "button"
  else node.setAttribute("role", "group")
  if (card.first) node.classList.add("first")
  if (card.active) node.classList.add("active")
  if (card.selected) node.classList.add("selected")
  if (clickable) node.setAttribute("aria-pressed", card.selected ? "true" : "false")
  node.setAttribute("aria-label", card.label)
  const head = element("div", "head", card.head)
  if (card.note) head.append(element("b", "", card.note))
  node.append(head)
  if (card.token) node.append(tokenNode(card.token))
  if (card.bar !== null) node.append(ruleNode(card))
  if (card.numbers.length) {
    const list = element("dl", "numbers")
    for (const [name, value, kind] of card.numbers) {
      list.append(element("dt", kind, name), element("dd", kind, value))
    }
    node.append(list)
  }
  if (card.verdict) {
    const verdict = element("div", "verdict")
    const icon = element("span", "icon", card.icon)
    icon.setAttribute("aria-hidden", "true")
    verdict.append(icon, element("span", "", card.verdict))
    node.append(verdict)
  }
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".strip")
  if (!root || !data) return
  const palette = paint(root, parentElement, data)
  root.style.setProperty("--say", palette[data.tone] ?? palette.line)
  root.querySelector(".context .label").textContent = data.context_label
  root.querySelector(".context .text").textContent = data.context
  const list = root.querySelector(".cards")
  const focused = parentElement.activeElement?.closest?.("li")
  const at = focused ? [...list.children].indexOf(focused) : -1
  list.className = data.cards.length > 8 ? "cards many" : "cards"
  list.replaceChildren(
    ...data.cards.map((card) => {
      const item = element("li")
      const clickable = data.clickable && card.t !== null && card.state !== "hidden"
      const node = cardNode(card, clickable)
      if (clickable) node.onclick = () => setTriggerValue("picked", card.t)
      item.append(node)
      return item
    }),
  )
  if (at >= 0) list.children[at]?.querySelector("button")?.focus()
  root.querySelector(".facts").replaceChildren(
    ...data.facts.map(([big, small]) => {
      const fact = element("div")
      fact.append(element("b", "", big), document.createTextNode(" "), element("span", "", small))
      return fact
    }),
  )
  const say = root.querySelector(".say")
  if (say.textContent !== data.say) say.textContent = data.say
}
