import { toWarpdexError, WarpdexError } from '../../../protocol/errors.js'
import type { InsertMode } from '../../../protocol/messages.js'
import { type IndexDefinition, ResultCode } from '../../../protocol/types.js'
import type { Index } from '../../sdk/index.js'
import { type AnyKey, parseKey } from '../keys.js'
import { parsePayload } from '../payloads.js'
import type { Row } from './rows.js'

/** Rows of a batch: enough that a batch's own cost does not count, few enough to lose little time when one fails. */
const BATCH_ROWS = 16_384

/** Bytes of keys and payloads, as text, that end a batch early. */
const BATCH_CHARACTERS = 4 * 2 ** 20

/** Batches that are under way at a time, so that reading, the network and the device work side by side. */
const BATCHES_IN_FLIGHT = 4

export interface ImportOptions {
  readonly mode: InsertMode
  readonly hex: boolean
  /** Called with each bad line; when it returns, the line is skipped. */
  readonly onBadLine: (problem: WarpdexError) => void
  /** Called after each batch. */
  readonly onBatch: (counts: ImportCounts) => void
}

/** What became of the rows. */
export interface ImportCounts {
  inserted: number
  replaced: number
  exists: number
}

interface Batch {
  readonly firstLine: number
  readonly keys: AnyKey[]
  readonly payloads: (number | bigint | Uint8Array)[]
  characters: number
  lastLine: number
}

/** Writes rows to an index in batches, in the order of the rows. */
export class Importer {
  readonly counts: ImportCounts = { inserted: 0, replaced: 0, exists: 0 }
  readonly #index: Index
  readonly #definition: IndexDefinition
  readonly #options: ImportOptions
  /** Batches that are under way; they never reject. */
  readonly #underWay = new Set<Promise<void>>()
  #failure: WarpdexError | undefined

  constructor(index: Index, definition: IndexDefinition, options: ImportOptions) {
    this.#index = index
    this.#definition = definition
    this.#options = options
  }

  /**
   * Imports all rows. What was written before an error stays.
   * @throws WarpdexError that names the line, or the lines of the batch, that it is about
   */
  async run(rows: AsyncIterable<Row>): Promise<void> {
    let batch: Batch | undefined
    try {
      for await (const row of rows) {
        batch = this.#add(batch, row)
        if (batch === undefined || !isFull(batch)) continue
        await this.#send(batch)
        batch = undefined
      }
    } catch (error) {
      this.#failure ??= toWarpdexError(error)
    }
    if (batch !== undefined && this.#failure === undefined) await this.#send(batch)
    await Promise.all(this.#underWay)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** The batch with one more row; a new one where there is none. */
  #add(batch: Batch | undefined, { line, cells }: Row): Batch | undefined {
    let key: AnyKey
    let payload: number | bigint | Uint8Array
    try {
      if ('problem' in cells) throw new WarpdexError('BAD_REQUEST', cells.problem)
      key = parseKey(this.#keyText(cells.key), this.#definition, this.#options.hex)
      payload = parsePayload(cells.payload, this.#definition, this.#options.hex)
    } catch (thrown) {
      const { code, message } = toWarpdexError(thrown)
      this.#options.onBadLine(new WarpdexError(code, `line ${line}: ${message}`))
      return batch
    }
    const grown = batch ?? { firstLine: line, lastLine: line, keys: [], payloads: [], characters: 0 }
    grown.keys.push(key)
    grown.payloads.push(payload)
    grown.lastLine = line
    grown.characters += 'payload' in cells ? cells.key.length + cells.payload.length : 0
    return grown
  }

  /** Blanks around a number or a tuple mean nothing. */
  #keyText(text: string): string {
    const { keyType } = this.#definition
    return keyType === 'string' || keyType === 'bytes' ? text : text.trim()
  }

  /** Sends a batch, and waits until there is room for another. */
  async #send(batch: Batch): Promise<void> {
    const sending = this.#write(batch).finally(() => this.#underWay.delete(sending))
    this.#underWay.add(sending)
    if (this.#underWay.size >= BATCHES_IN_FLIGHT) await Promise.race(this.#underWay)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #write({ keys, payloads, firstLine, lastLine }: Batch): Promise<void> {
    try {
      const codes = await this.#index.insert(keys, payloads, { mode: this.#options.mode })
      for (const code of codes) {
        if (code === ResultCode.inserted) this.counts.inserted++
        else if (code === ResultCode.replaced) this.counts.replaced++
        else this.counts.exists++
      }
      this.#options.onBatch(this.counts)
    } catch (thrown) {
      const { code, message } = toWarpdexError(thrown)
      this.#failure ??= new WarpdexError(code, `lines ${firstLine} to ${lastLine}: ${message}`)
    }
  }
}

function isFull({ keys, characters }: Batch): boolean {
  return keys.length >= BATCH_ROWS || characters >= BATCH_CHARACTERS
}
