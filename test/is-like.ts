/** Whether a string matches a pattern of SQL, whose escape is a backslash: by a regular expression. */
export function isLike(pattern: string, string: string): boolean {
  const source = pattern.replace(/\\.|[\s\S]/gu, (part) => {
    if (part === '%') return '[^]*'
    if (part === '_') return '[^]'
    const character = part.length > 1 && part.startsWith('\\') ? part.slice(1) : part
    return `\\u{${character.codePointAt(0)!.toString(16)}}`
  })
  return new RegExp(`^${source}$`, 'u').test(string)
}
