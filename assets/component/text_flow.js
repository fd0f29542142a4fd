// The text so far, block by block. Every text is set with textContent, so token text stays literal.

function blockNode(block, clickable) {
  const node = element("span", block.selected ? "block selected" : "block")
  if (clickable) {
    node.setAttribute("role", "button")
    node.tabIndex = 0
    node.setAttribute("aria-label", block.label)
    node.setAttribute("aria-pressed", block.selected ? "true" : "false")
  }
  node.title = block.label
  for (const token of block.tokens) node.append(element("span", token.kind, token.text))
  return node
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const root = parentElement.querySelector(".flow")
  if (!root || !data) return
  paint(root, parentElement, data)
  const text = root.querySelector(".text")
  const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 8
  const focused = [...text.querySelectorAll(".block")].indexOf(parentElement.activeElement)
  text.replaceChildren(element("span", "prompt", data.prompt))
  for (const block of data.blocks) {
    const node = blockNode(block, data.clickable)
    if (data.clickable) {
      const pick = () => setTriggerValue("picked", block.index)
      node.onclick = pick
      node.onkeydown = (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault()
          pick()
        }
      }
    }
    text.append(node)
  }
  if (focused >= 0) text.querySelectorAll(".block")[focused]?.focus()
  // Where nothing in it can be focused, the scrolling text itself must be, or keys could not scroll it.
  if (!data.clickable) text.tabIndex = 0
  if (atEnd) text.scrollTop = text.scrollHeight
  root.querySelector(".legend").replaceChildren(
    ...data.legend.map(([kind, label]) => element("span", kind, label)),
  )
}
