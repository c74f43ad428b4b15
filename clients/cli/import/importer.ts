import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { IndexDefinition } from '../../../protocol/types.js'
import { type IfExists, type Index, LoadError, type LoadResult } from '../../sdk/index.js'
import { type AnyKey, parseKey } from '../keys.js'
import { type AnyPayload, parsePayload } from '../payloads.js'
import type { Row } from './rows.js'
import type { OnBadLine } from './text.js'

/** Rows that are handed on together: enough that handing them on does not count, few enough to name a faulty one's lines. */
const BATCH_ROWS = 16_384

/** Bytes of keys and payloads, as text, that end a batch early. */
const BATCH_CHARACTERS = 4 * 2 ** 20

export interface ImportOptions {
  readonly ifExists: IfExists
  readonly hex: boolean
  /** What errors count rows by. */
  readonly unit: 'line' | 'row'
  readonly onBadLine: OnBadLine
  /** Told of all that is stored so far. */
  readonly onProgress: (stored: LoadResult) => void
  /** Aborting it ends the import with `CANCELLED`, once what is under way is stored. */
  readonly signal: AbortSignal
}

interface Batch {
  readonly firstLine: number
  readonly keys: AnyKey[]
  readonly payloads: AnyPayload[]
  characters: number
}

/** Loads rows into an index, in their order. */
export class Importer {
  readonly #index: Index
  readonly #definition: IndexDefinition
  readonly #options: ImportOptions
  /** What is not known to be stored, in order: how many rows come before it, and its first line. */
  readonly #batches: { readonly rowsBefore: number; readonly firstLine: number }[] = []
  #lastLine = 0
  /** What was wrong with the text. */
  #fault: WarpdexError | undefined

  constructor(index: Index, definition: IndexDefinition, options: ImportOptions) {
    this.#index = index
    this.#definition = definition
    this.#options = options
  }

  /**
   * Imports all rows.
   * @throws LoadError that names the line, or the lines, that it is about; what was stored before stays
   */
  async run(rows: AsyncIterable<Row>): Promise<LoadResult> {
    const { ifExists, onProgress, signal } = this.#options
    try {
      return await this.#index.bulkLoad(this.#read(rows), {
        ifExists,
        signal,
        onProgress: (stored) => {
          this.#forget(stored.rows)
          onProgress(stored)
        },
      })
    } catch (thrown) {
      if (!(thrown instanceof LoadError)) throw thrown
      const { code, message } = toWarpdexError(thrown.cause)
      const first = this.#batches[0]?.firstLine
      const ofLines = this.#fault === undefined && code !== 'CANCELLED' && first !== undefined
      const where = !ofLines ? '' : `${this.#options.unit}s ${first} to ${this.#lastLine}: `
      throw new LoadError(new WarpdexError(code, `${where}${message}`), thrown.stored)
    }
  }

  async *#read(rows: AsyncIterable<Row>): AsyncGenerator<Batch, void, undefined> {
    let batch: Batch | undefined
    let rowsBefore = 0
    const ended = (ready: Batch): Batch => {
      this.#batches.push({ rowsBefore, firstLine: ready.firstLine })
      rowsBefore += ready.keys.length
      return ready
    }
    try {
      for await (const row of rows) {
        batch = this.#add(batch, row)
        if (batch === undefined || !isFull(batch)) continue
        yield ended(batch)
        batch = undefined
      }
    } catch (error) {
      this.#fault = toWarpdexError(error)
      throw error
    }
    if (batch !== undefined) yield ended(batch)
  }

  /** The batch with one more row; a new one where there is none. */
  #add(batch: Batch | undefined, row: Row): Batch | undefined {
    let key: AnyKey
    let payload: AnyPayload
    try {
      key = parseKey(this.#keyText(row.key), this.#definition, this.#options.hex)
      payload = parsePayload(row.payload, this.#definition, this.#options.hex)
    } catch (thrown) {
      const { code, message } = toWarpdexError(thrown)
      this.#options.onBadLine(new WarpdexError(code, `${this.#options.unit} ${row.line}: ${message}`))
      return batch
    }
    const grown = batch ?? { firstLine: row.line, keys: [], payloads: [], characters: 0 }
    grown.keys.push(key)
    grown.payloads.push(payload)
    grown.characters += row.key.length + row.payload.length
    this.#lastLine = row.line
    return grown
  }

  /** Blanks around a number or a tuple mean nothing. */
  #keyText(text: string): string {
    const { keyType } = this.#definition
    return keyType === 'string' || keyType === 'bytes' ? text : text.trim()
  }

  #forget(rows: number): void {
    while (this.#batches.length > 1 && this.#batches[1].rowsBefore <= rows) this.#batches.shift()
  }
}

function isFull({ keys, characters }: Batch): boolean {
  return keys.length >= BATCH_ROWS || characters >= BATCH_CHARACTERS
}
