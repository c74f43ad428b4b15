/** Characters of an outline: enough to recognise a statement. */
const LONGEST = 500

/** Parts of a statement within which others do not begin. What is quoted and has no end goes on to the end of the text. */
const TOKENS = new RegExp(
  [
    String.raw`(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))`,
    String.raw`(?<escaped>\b[eE]'(?:\\[\s\S]|''|[^'\\])*'?)`,
    String.raw`(?<dollars>(?<tag>\$[\p{L}\p{N}_]*\$)[\s\S]*?(?:\k<tag>|$))`,
    String.raw`(?<name>"(?:[^"]|"")*"?|[$:@]?[\p{L}_][\p{L}\p{N}_$]*|\$\d+)`,
    "(?<quoted>'(?:''|[^'])*'?)",
    String.raw`(?<number>\.?\d[\p{L}\p{N}_.]*(?:(?<=[eE])[+-]\d+)?)`,
  ].join('|'),
  'gu',
)

/** A statement in SQL on one line, with `?` for its constants, and without comments: nothing of the data is in it. */
export function statementOutline(text: string): string {
  const outline = text.replace(TOKENS, (...match) => {
    const { name, comment } = match.at(-1) as { readonly name?: string; readonly comment?: string }
    return name ?? (comment === undefined ? '?' : ' ')
  })
  const line = outline.replaceAll(/\s+/g, ' ').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
