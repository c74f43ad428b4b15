/** A number of JSON by its digits, since a number of JavaScript would be another one. */
export class NumberText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A double tells all decimals of that many digits apart. */
const EXACT_DIGITS = 15

/** Texts, numbers, and what structures them. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\],:]/g

/** Whether there may be a number of too many digits, or of an exponent. Texts may look so, too, which only costs time. */
const MAY_BE_INEXACT = /\d[\d.]{15}|\d[eE]/

/**
 * The fields of an object of JSON; numbers that JavaScript's cannot hold as they are written are NumberTexts.
 * @returns undefined when it is no object
 * @throws SyntaxError when it is no JSON
 */
export function jsonFields(text: string): Map<string, unknown> | undefined {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const fields = new Map<string, unknown>(Object.entries(value))
  if (MAY_BE_INEXACT.test(text)) {
    for (const [name, number] of numberTexts(text)) {
      if (typeof fields.get(name) === 'number' && !isExact(number)) fields.set(name, new NumberText(number))
    }
  }
  return fields
}

/** The object's own fields that are numbers, by name, as they are written; the last of a name wins, as in JSON.parse. */
function numberTexts(text: string): Map<string, string> {
  const numbers = new Map<string, string>()
  let depth = 0
  let name = ''
  let isValue = false
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (depth > 1) continue
    else if (token === ':') isValue = true
    else if (token === ',') isValue = false
    else if (!isValue) name = JSON.parse(token)
    else if (token.startsWith('"')) numbers.delete(name)
    else numbers.set(name, token)
  }
  return numbers
}

function isExact(text: string): boolean {
  const value = Number(text)
  const [mantissa] = text.split(/e/i)
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '')
  return digits.length <= EXACT_DIGITS && Number.isFinite(value) && (value !== 0 || digits === '')
}
