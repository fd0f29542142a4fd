// What the components share. It stands in front of each one's own script.

// An element whose text is set as text: token text can hold anything and stays literal.
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

// Hands the palette of the theme in use to the component's style sheet, and returns it.
function paint(root, parentElement, data) {
  const palette = isDark(parentElement) ? data.dark : data.light
  for (const [name, colour] of Object.entries(palette)) root.style.setProperty(`--${name}`, colour)
  return palette
}
