// Asks for a new run when the page's theme is no longer the one its figures were drawn for: the visitor, or the evening,
// may change it at any time, and the server is told only together with something else.

const APP = '[data-testid="stApp"]'

export default function ({ data, setTriggerValue }) {
  const app = document.querySelector(APP)
  if (!app) return
  const look = () => {
    const shown = getComputedStyle(app).colorScheme
    // Asked once for each change, and kept on the page, for every run calls this anew: should the server never see the
    // theme that the browser shows, that is the end of it.
    if (shown !== data.drawn_for && shown !== app.dataset.askedTheme) setTriggerValue("changed", shown)
    app.dataset.askedTheme = shown
  }
  // Streamlit gives the app another class when it changes its colours.
  const watch = new MutationObserver(look)
  watch.observe(app, { attributes: true, attributeFilter: ["class"] })
  look()
  return () => watch.disconnect()
}
