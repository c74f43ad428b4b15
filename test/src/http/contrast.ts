/**
 * Texts whose contrast to what is behind them is lower than that, as WCAG has it (success criterion 1.4.3). Runs in a page.
 */
export function lowContrasts(least: number): string[] {
  const channels = (colour: string): number[] => (colour.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = (colour: string): number => {
    const [red, green, blue] = channels(colour).map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const behind = (element: Element | null): string => {
    if (element === null) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return channels(backgroundColor)[3] === 0 ? behind(element.parentElement) : backgroundColor
  }
  const found: string[] = []
  for (const element of Array.from(document.querySelectorAll('body *'))) {
    const own = Array.from(element.childNodes).some(
      (node) => node.nodeType === 3 && node.textContent?.trim() !== '',
    )
    if (!own || element.getClientRects().length === 0) continue
    const [one, other] = [getComputedStyle(element).color, behind(element)].map(luminance)
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    if (contrast < least) found.push(`${element.tagName} ${element.textContent}: ${contrast.toFixed(2)}`)
  }
  return found
}
