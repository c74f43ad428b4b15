type Attributes = Readonly<Record<string, string | number>>

/** An SVG element; children are elements, or text that `escaped` has gone over. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(show(value))}"`)
  const start = `<${name}${list.join('')}`
  return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${name}>`
}

export function text(content: string, x: number, y: number, attributes: Attributes = {}): string {
  return element('text', { x, y, ...attributes }, escaped(content))
}

export function escaped(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** A hundredth of a pixel is fine enough. */
function show(value: string | number): string {
  return typeof value === 'number' ? String(Math.round(value * 100) / 100) : value
}

/** Colours that can be told apart by most people (Okabe and Ito), without those too pale for lines. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#000000', '#56b4e9', '#e69f00', '#7f7f7f']

export function colour(i: number): string {
  return COLOURS[i % COLOURS.length]!
}

/** Lines beyond the colours are dashed. */
export function dashes(i: number): string {
  return ['none', '6 3', '2 3'][Math.floor(i / COLOURS.length) % 3]!
}

const WIDTH = 900
const HEIGHT = 460

/** The plot's area within the picture; the legend stands at its right. */
export const AREA = { left: 80, top: 44, right: 600, bottom: 396 } as const

/** A number with the prefix of its size: 0.5, 20, 1.5k, 3M. */
export function prefixed(value: number): string {
  const prefixes = ['', 'k', 'M', 'G', 'T']
  const power = Math.min(prefixes.length - 1, Math.max(0, Math.floor(Math.log10(value) / 3 + 1e-9)))
  return `${Number((value / 1000 ** power).toPrecision(3))}${prefixes[power]}`
}

/** A whole picture: title, names of the axes, and what is in it. */
export function picture(title: string, axes: { x: string; y: string }, content: readonly string[]): string {
  const { left, right, top, bottom } = AREA
  const middle = (top + bottom) / 2
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    'font-family': 'sans-serif',
    'font-size': 12,
  }
  return `${element(
    'svg',
    attributes,
    element('rect', { width: WIDTH, height: HEIGHT, fill: 'white' }),
    text(title, left, 24, { 'font-size': 15 }),
    text(axes.x, (left + right) / 2, bottom + 42, { 'text-anchor': 'middle' }),
    text(axes.y, 20, middle, { 'text-anchor': 'middle', transform: `rotate(-90 20 ${middle})` }),
    ...content,
  )}\n`
}
