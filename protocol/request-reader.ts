import { badRequest, type WarpdexError } from './errors.js'
import type { Frame, Section } from './frame.js'
import { LIMITS } from './limits.js'
import { isName } from './names.js'
import { quotedText } from './shown.js'

/**
 * Takes a request's fields and sections out of its frame one by one, each checked, and then refuses what nobody asked for: a
 * misspelt option must not be silently ignored.
 *
 * Every method throws WarpdexError `BAD_REQUEST`.
 */
export class RequestReader {
  readonly #op: string
  readonly #frame: Frame
  readonly #fields = ['id', 'op']
  readonly #sections: string[] = []

  constructor(op: string, frame: Frame) {
    this.#op = op
    this.#frame = frame
  }

  /** A field that is checked elsewhere, undefined where it is absent. */
  value(name: string): unknown {
    return this.#field(name)
  }

  text(name: string): string {
    return this.optionalText(name) ?? this.#missing(name)
  }

  optionalText(name: string): string | undefined {
    const value = this.#field(name)
    return value === undefined || typeof value === 'string' ? value : this.#refuse(name, 'a string')
  }

  /** A boolean, false where it is absent. */
  flag(name: string): boolean {
    const value = this.#field(name) ?? false
    return typeof value === 'boolean' ? value : this.#refuse(name, 'true or false')
  }

  whole(name: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): number {
    return this.optionalWhole(name, least, most) ?? this.#missing(name)
  }

  optionalWhole(name: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.#field(name)
    if (value === undefined) return undefined
    const isWhole = typeof value === 'number' && Number.isSafeInteger(value)
    if (isWhole && value >= least && value <= most) return value
    const end = most === Number.MAX_SAFE_INTEGER ? '2^53 - 1' : most
    return this.#refuse(name, `a whole number from ${least} to ${end}`)
  }

  indexName(name: string): string {
    return this.optionalIndexName(name) ?? this.#missing(name)
  }

  optionalIndexName(name: string): string | undefined {
    const value = this.optionalText(name)
    if (value === undefined || isName(value)) return value
    return this.#refuse(name, `of 1 to ${LIMITS.indexNameBytes} bytes of UTF-8 without control characters`)
  }

  clientName(name: string): string {
    const value = this.text(name)
    return /^[\x21-\x7e]{1,64}$/.test(value)
      ? value
      : this.#refuse(name, '1 to 64 printable ASCII characters, best a UUID')
  }

  section(name: string): Section {
    const section = this.optionalSection(name)
    if (section === undefined) throw this.#bad(`needs a section "${name}"`)
    return section
  }

  optionalSection(name: string): Section | undefined {
    this.#sections.push(name)
    return this.#frame.sections.get(name)
  }

  /** Refuses fields and sections that were not asked for. */
  finish(): void {
    for (const field in this.#frame.header) {
      if (this.#fields.includes(field)) continue
      throw this.#bad(`has no option ${quotedText(field)}; its fields are ${this.#fields.join(', ')}`)
    }
    for (const section of this.#frame.sections.keys()) {
      if (this.#sections.includes(section)) continue
      const known = this.#sections.join(', ')
      throw this.#bad(
        `has no section ${quotedText(section)}; ${known === '' ? 'it takes none' : `its sections are ${known}`}`,
      )
    }
  }

  #field(name: string): unknown {
    this.#fields.push(name)
    return this.#frame.header[name] ?? undefined
  }

  #missing(name: string): never {
    throw this.#bad(`needs a field "${name}"`)
  }

  #refuse(name: string, right: string): never {
    throw this.#bad(`takes a "${name}" that is ${right}`)
  }

  #bad(what: string): WarpdexError {
    return badRequest(`${this.#op} ${what}`)
  }
}
