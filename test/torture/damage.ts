import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WarpdexError } from '../../protocol/errors.js'
import { type IndexDefinition, WriteOp } from '../../protocol/types.js'
import type { Engine, EngineOptions, Index } from '../../src/engine/index.js'
import { usedBytes } from '../persistence/used-bytes.js'
import type { Random } from '../random.js'
import { reads } from '../reads.js'
import { writeTo } from '../writes.js'

const DEFINITIONS: readonly IndexDefinition[] = [
  { name: 'texts', keyType: 'u32', payloadKind: 'bytes', unique: false },
  { name: 'numbers', keyType: 'u32', payloadKind: 'u32', unique: true },
]
const BATCHES = 40
const BATCH_ITEMS = 30
const KEYS = 500
/** Values that LMDB keeps on pages of their own, beside such that share one. */
const LONG_TEXT = 3000

type OpenEngine = (options: Pick<EngineOptions, 'directory'>) => Promise<Engine>

/** Answers that must not change: all entries of each index, and what a client is told that sends its writes again. */
interface Answers {
  readonly entries: Readonly<Record<string, string>>
  readonly outcomes: readonly string[]
}

/** What became of a damaged data directory. */
export type DamageOutcome = 'refused at the start' | 'refused to answer' | 'answered right'

/** Damages copies of a data directory at random places, and sees to it that nobody gets a wrong answer. */
export class Damaging {
  readonly #directory: string
  readonly #open: OpenEngine
  readonly #random: Random
  readonly #answers: Answers

  private constructor(directory: string, open: OpenEngine, random: Random, answers: Answers) {
    this.#directory = directory
    this.#open = open
    this.#random = random
    this.#answers = answers
  }

  /** Writes the data directory that is then damaged. @param open opens an engine over models of structures */
  static async prepare(directory: string, open: OpenEngine, random: Random): Promise<Damaging> {
    const engine = await open({ directory: join(directory, 'sound') })
    for (const definition of DEFINITIONS) await engine.createIndex(definition)
    for (let batch = 0; batch < BATCHES; batch++) {
      for (const { name } of DEFINITIONS) await write(engine.index(name), batch, random)
      // Two snapshots of each index, and records behind them.
      if (batch === 10 || batch === 25) await engine.snapshot()
    }
    const answers = await ask(engine)
    await engine.close()
    return new Damaging(directory, open, random, answers)
  }

  /** @throws Error when there is a wrong answer, or an error that is none of damage */
  async trial(): Promise<{ readonly what: string; readonly outcome: DamageOutcome }> {
    const copy = join(this.#directory, 'damaged')
    rmSync(copy, { recursive: true, force: true })
    cpSync(join(this.#directory, 'sound'), copy, { recursive: true })
    const what = await this.#damage(copy)
    try {
      return { what, outcome: await this.#tryOut(copy) }
    } catch (error) {
      throw new Error(`${what}: ${error instanceof Error ? error.stack : String(error)}`)
    }
  }

  async #tryOut(directory: string): Promise<DamageOutcome> {
    let engine: Engine
    try {
      engine = await this.#open({ directory })
    } catch (error) {
      requireDamage(error)
      return 'refused at the start'
    }
    try {
      const answers = await ask(engine)
      if (JSON.stringify(answers) !== JSON.stringify(this.#answers)) throw new Error('an answer is wrong')
      return 'answered right'
    } catch (error) {
      requireDamage(error)
      return 'refused to answer'
    } finally {
      await engine.close()
    }
  }

  /** Does something to a file of a data directory, and says what. */
  async #damage(directory: string): Promise<string> {
    const random = this.#random
    const snapshots = readdirSync(join(directory, 'snapshots')).map((name) => join('snapshots', name))
    const file = random.chance(0.65) ? 'data.mdb' : random.pick(snapshots)
    const path = join(directory, file)
    const size = file === 'data.mdb' ? await usedBytes(directory) : statSync(path).size
    if (random.chance(0.15)) {
      const length = random.below(size)
      truncateSync(path, length)
      return `${file} cut to ${length} of ${size} bytes`
    }
    const bytes = readFileSync(path)
    // Meta pages, of which there are two, count as much as all others.
    const at =
      file === 'data.mdb' && random.chance(0.2)
        ? random.below(200) + 4096 * random.below(2)
        : random.below(size)
    const bit = random.below(8)
    bytes[at] ^= 1 << bit
    writeFileSync(path, bytes)
    return `${file}: bit ${bit} of byte ${at} of ${size}`
  }
}

function requireDamage(error: unknown): void {
  const message = error instanceof WarpdexError ? error.message : ''
  if (error instanceof WarpdexError && error.code === 'DAMAGED_FILE' && message.length > 20) return
  throw error
}

async function write(index: Index, batch: number, random: Random): Promise<void> {
  const { name, payloadKind } = index.definition
  const keys = Uint32Array.from({ length: BATCH_ITEMS }, () => random.below(KEYS))
  const ops = Uint8Array.from(keys, () =>
    random.pick([WriteOp.insert, WriteOp.insert, WriteOp.replace, WriteOp.deleteKey]),
  )
  const texts = Array.from(keys, (key, i) =>
    Buffer.from(`${batch}/${i}/${key} `.padEnd(i === 0 ? LONG_TEXT : 20, '.')),
  )
  const offsets = new Uint32Array(texts.length + 1)
  texts.forEach(({ length }, i) => {
    offsets[i + 1] = offsets[i] + length
  })
  const numbers = Uint32Array.from(keys, (_, i) => batch * BATCH_ITEMS + i)
  const payloads =
    payloadKind === 'bytes'
      ? { bytes: new Uint8Array(Buffer.concat(texts)), offsets }
      : { bytes: bytesOf(numbers), offsets: undefined }
  await writeTo(index, { ops, keys: bytesOf(keys), payloads }, { client: name, number: batch })
}

async function ask(engine: Engine): Promise<Answers> {
  const entries: Record<string, string> = {}
  const outcomes: string[] = []
  for (const { name } of DEFINITIONS) {
    const index = engine.index(name)
    const { offsets, keys, payloads, payloadOffsets } = await reads(index).scan({
      ranges: 1,
      limit: 100_000,
      from: undefined,
      to: undefined,
      tokens: undefined,
    })
    const columns = [offsets, keys, payloads, payloadOffsets ?? new Uint32Array()]
    entries[name] = columns
      .map((column) =>
        Buffer.from(new Uint8Array(column.buffer, column.byteOffset, column.byteLength)).toString('hex'),
      )
      .join(' ')
    for (let number = 0; number < BATCHES; number++) {
      const none = { ops: WriteOp.deleteKey, keys: new Uint8Array(), payloads: undefined }
      outcomes.push(Buffer.from(await writeTo(index, none, { client: name, number })).toString('hex'))
    }
  }
  return { entries, outcomes }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
}
