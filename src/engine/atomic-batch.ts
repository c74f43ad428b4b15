import type { GetResult } from '../../gpu/index-structure.js'
import type { AppendRecord, LogRecord } from '../../persistence/log/log-records.js'
import type { RecordOf } from '../../persistence/log/write-log.js'
import type { BatchAnswer } from '../../persistence/log/write-outcomes.js'
import type { AppendToLog } from '../../persistence/replication/change-sets.js'
import { type Column, concatenate, countOf, valueAt } from '../../protocol/columns.js'
import { WarpdexError } from '../../protocol/errors.js'
import { type AppendedRows, hasValue, type RelationBatch } from '../../protocol/relation-batch.js'
import type { Conditions } from '../../protocol/request-columns.js'
import { Condition } from '../../protocol/types.js'
import type { EngineHost } from './engine-host.js'
import type { Cancellation, IndexWrite, WriteId } from './index-requests.js'
import type { Index } from './named-index.js'
import type { Relation } from './named-relation.js'
import { allHeld } from './named-structure.js'
import { type DeviceStructure, PagedStructure } from './paged-structure.js'
import type { HeldIndex } from './relation-indexes.js'
import { requireWanted } from './request-queue.js'
import { rememberedOutcome } from './write-identity.js'

/** Writes to several indexes and relations, none of which is there twice in one list, and what must hold for them to be made. */
export interface AtomicBatch {
  readonly writes: readonly { readonly index: Index; readonly columns: IndexWrite }[]
  readonly appends: readonly { readonly relation: Relation; readonly rows: RelationBatch }[]
  readonly conditions: readonly ConditionsOn[]
  /** Why further conditions cannot be looked at, such as that there is no such index: the batch fails with it unless it was done before. */
  readonly refusal?: WarpdexError | undefined
  /** Of one that other replica sets have parts of, too. */
  readonly joint?: JointSteps | undefined
}

/** How a node makes its part of a batch that several replica sets have parts of, all of them or none. */
export interface JointSteps {
  /** Resolves when the turns may be taken. */
  begin(): Promise<void>
  /** To be called when nothing can keep the part from being made but the log. Resolves when it may be appended. */
  ready(): Promise<void>
  /** Appends it with the others. */
  readonly append: AppendToLog
}

interface ConditionsOn {
  readonly index: Index
  readonly keys: Column
  readonly conditions: Conditions
}

interface BatchHost extends Pick<EngineHost, 'store' | 'meter'> {
  /** The relation whose columns an index is over, if it is over any. */
  relationOf(index: Index): Relation | undefined
}

/** A part of a batch of which all is known: what is left is to log and apply it, or to discard it. */
export interface ReadyPart {
  readonly record: LogRecord | AppendRecord
  /** Of writes to an index. */
  readonly codes?: Uint8Array
  /** Of rows for a relation. */
  readonly appended?: AppendedRows
  /** To be called once it is logged. @returns whether what it is written to holds it; if not, that must be rebuilt */
  apply(): boolean
  discard(): void
}

/** A turn of an index or a relation, until it is released. */
interface Turn {
  release(): void
}

/** An index or a relation whose turn it is, and what a batch writes to it. */
export interface BatchTarget extends Turn {
  readonly id: number
  /** What must be on the device meanwhile. */
  readonly structures: readonly PagedStructure<DeviceStructure>[]
  prepare(): Promise<ReadyPart>
  /** Told of the bytes of its record. */
  logged(bytes: number): void
  /** What is due once it is applied. */
  settle(): Promise<void>
  /** Builds it anew. */
  remake(): Promise<void>
}

export function indexTarget(held: HeldIndex, columns: IndexWrite): BatchTarget {
  const { structure, stored, writer, upkeep, remake, release } = held
  return {
    id: stored.id,
    structures: [structure],
    prepare: () => writer.preparer.prepare(held, [columns], false),
    logged: (bytes) => upkeep.logged(bytes),
    settle: () => upkeep.afterWrites(structure.current, false),
    remake,
    release,
  }
}

/**
 * Makes all writes of a batch, or none: in one transaction of the store, and in one step for all that ask, in the turns of all that it is about.
 * Conditions are about what there is before it.
 *
 * @param id with it the batch is applied once, and a repeat is answered with the first outcome
 * @throws WarpdexError `CONDITION_FAILED` with the number of the first condition that does not hold, and what reads and writes throw
 */
export async function writeBatch(
  host: BatchHost,
  { writes, appends, conditions, refusal, joint }: AtomicBatch,
  id?: WriteId,
  cancellation?: Cancellation,
): Promise<BatchAnswer> {
  if (joint !== undefined) {
    // The others may have made their parts, and do not come again.
    const target = writes[0]?.index.id ?? appends[0]?.relation.id
    const known = target === undefined ? undefined : rememberedOutcome(host.store, target, id, 'batch')?.batch
    if (known !== undefined) return known
    if (refusal !== undefined) throw refusal
    await joint.begin()
  }
  const written = new Set(writes.map(({ index }) => index))
  const appended = new Set(appends.map(({ relation }) => relation))
  const others = conditions.map(({ index }) => index).filter((index) => !written.has(index))
  // All queues are entered in one step, so that batches, and whatever else takes several turns, never wait for each other crosswise.
  const coming = [
    ...writes.map(({ index, columns }) => index.holdForBatch(columns)),
    ...appends.map(({ relation, rows }) => relation.holdForBatch(rows)),
  ]
  const held = await allHeld<Turn>([...coming, ...holdToRead(others, appended, host)])
  try {
    // Others wait for what has begun.
    requireWanted(joint === undefined ? cancellation : undefined)
    const targets = await Promise.all(coming)
    const [first] = targets
    const known = first && rememberedOutcome(host.store, first.id, id, 'batch')?.batch
    if (known !== undefined && joint === undefined) return known
    if (known !== undefined) throw new WarpdexError('NOT_OWNER', 'the batch was done meanwhile; ask again')
    if (refusal !== undefined) throw refusal
    await requireConditions(conditions)
    if (first === undefined && joint === undefined) return { codes: new Uint8Array(0), appended: [] }
    return await writeTargets(host, targets, id, joint)
  } finally {
    for (const { release } of held) release()
  }
}

/**
 * Takes the turns of indexes that a batch has conditions on: those of indexes over columns within the turns of their relations, but for those that rows come to,
 * whose turns are taken with their relations'. Takes its places before it returns.
 */
function holdToRead(
  indexes: readonly Index[],
  appended: ReadonlySet<Relation>,
  { relationOf }: BatchHost,
): readonly Promise<Turn>[] {
  const related = indexes.map((index) => ({ index, relation: relationOf(index) }))
  const relations = new Set(related.map(({ relation }) => relation))
  return [...relations].flatMap((relation) => {
    const own = related.filter((each) => each.relation === relation).map(({ index }) => index)
    if (relation === undefined) return own.map((index) => index.holdToRead())
    return appended.has(relation) ? [] : [relation.holdToRead(own)]
  })
}

/** @throws WarpdexError `CONDITION_FAILED` */
async function requireConditions(all: readonly ConditionsOn[]): Promise<void> {
  const found = await Promise.all(all.map(({ index, keys }) => index.getInTurn(keys)))
  let before = 0
  for (const [i, { index, keys, conditions }] of all.entries()) {
    const failed = conditions.kinds.findIndex((_, key) => !holds(conditions, key, found[i]))
    if (failed >= 0) throw conditionFailed(before + failed, index.definition.name, conditions.kinds[failed])
    before += countOf(keys)
  }
}

function holds({ kinds, payloads, sequences }: Conditions, i: number, found: GetResult): boolean {
  const kind = kinds[i]
  const isPresent = hasValue(found.found, i)
  if (kind === Condition.absent || !isPresent) return isPresent === (kind !== Condition.absent)
  if (kind === Condition.payload) return equalValues(payloads, found.payloads, i)
  return kind === Condition.present || equalValues(sequences, found.sequences, i)
}

function equalValues(wanted: Column | undefined, found: Column | undefined, i: number): boolean {
  if (wanted === undefined || found === undefined) return false
  return Buffer.compare(valueAt(wanted, i), valueAt(found, i)) === 0
}

const WANTED: readonly string[] = [
  'no payload',
  'a payload',
  'another first payload',
  'a first payload of another sequence number',
]

function conditionFailed(item: number, index: string, kind: number): WarpdexError {
  const message = `condition ${item} of the batch, on index ${JSON.stringify(index)}, wants ${WANTED[kind]} of its key; nothing of the batch was done`
  return new WarpdexError('CONDITION_FAILED', message, { item })
}

async function writeTargets(
  host: BatchHost,
  targets: readonly BatchTarget[],
  id: WriteId | undefined,
  joint: JointSteps | undefined,
): Promise<BatchAnswer> {
  const structures = targets.flatMap((target) => target.structures)
  const { answer, isSound } = await PagedStructure.changeAll(structures, async () => {
    const ready = await allReady(targets.map((target) => target.prepare()))
    const answer = {
      codes: concatenate(ready.flatMap(({ codes }) => codes ?? [])),
      appended: ready.flatMap(({ appended }) => appended ?? []),
    }
    const outcomes = id === undefined ? [] : [{ client: id.client, write: id.number, batch: answer }]
    const records = ready.map(({ record }, i) => ({
      index: targets[i].id,
      record: i === 0 ? { ...record, outcomes } : record,
    }))
    await logOrDiscard(host, records, targets, ready, joint)
    const isSound = ready.map(({ apply }) => apply()).every(Boolean)
    if (isSound) for (const { settle } of targets) await settle()
    return { answer, isSound }
  })
  // What is logged counts.
  if (!isSound) for (const { remake } of targets) await remake()
  return answer
}

/** All that is ready, once all is; where any of it fails nothing is. */
async function allReady(parts: readonly Promise<ReadyPart>[]): Promise<readonly ReadyPart[]> {
  const settled = await Promise.allSettled(parts)
  const ready = settled.flatMap((part) => (part.status === 'fulfilled' ? [part.value] : []))
  const failed = settled.find((part) => part.status === 'rejected')
  if (failed === undefined) return ready
  for (const { discard } of ready) discard()
  throw failed.reason
}

async function logOrDiscard(
  { store, meter }: BatchHost,
  records: readonly RecordOf[],
  targets: readonly BatchTarget[],
  ready: readonly ReadyPart[],
  joint: JointSteps | undefined,
): Promise<void> {
  try {
    await joint?.ready()
    const since = performance.now()
    const logged = await store.log.appendAll(records, joint?.append)
    for (const [i, { bytes }] of logged.entries()) targets[i].logged(bytes)
    const bytes = logged.reduce((sum, record) => sum + record.bytes, 0)
    meter?.logged(logged.length, bytes, performance.now() - since)
  } catch (error) {
    for (const { discard } of ready) discard()
    throw error
  }
}
