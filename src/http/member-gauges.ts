import { gauges, type Metric, type Sample } from './exposition.js'

/** Indexes, or relations, that metrics tell apart: each has a dozen series or more. These are the largest; the others are one series together. */
export const METERED_MEMBERS = 100

/** The label of all that are not told apart; nothing has an empty name. */
const OTHERS = ''

/** What there is of indexes or relations. */
interface Member {
  readonly name: string
  readonly [figure: string]: unknown
}

/** What metrics say of indexes and relations, and what of it is read. */
const FIGURES: Readonly<Record<'index' | 'relation', readonly (readonly [figure: string, help: string])[]>> =
  {
    index: [
      ['keys', 'Keys of an index.'],
      ['payloads', 'Payloads of an index.'],
      ['expired', 'Entries of an index that expired since the server was started.'],
      ['expiring', 'Entries of an index that are to expire, as of the last count.'],
      ['shards', 'Pieces by ranges of keys that an index is held in.'],
      ['resident', '1 for an index on the device, 0 for one that is paged out.'],
      ['deviceBytes', 'Device memory of an index.'],
      ['garbageBytes', 'Device memory that a compaction would give back.'],
      ['hostBytes', 'Host memory of an index that is paged out.'],
      ['logRecords', 'Log records of an index on disk.'],
      ['logPosition', 'Position of the newest log record.'],
      ['snapshotPosition', 'Log position of the newest snapshot.'],
    ],
    relation: [
      ['rows', 'Rows of a relation.'],
      ['appends', 'Appends to a relation since it was loaded.'],
      ['resident', '1 for a relation on the device, 0 for one that is paged out.'],
      ['deviceBytes', 'Device memory of a relation.'],
      ['hostBytes', 'Host memory of a relation that is paged out.'],
      ['stringBytes', 'Different strings of a relation, in host memory.'],
      ['logRecords', 'Log records of a relation on disk.'],
      ['logPosition', 'Position of the newest log record.'],
      ['snapshotPosition', 'Log position of the newest snapshot.'],
    ],
  }

/** A gauge for each figure, with a series for each of the largest, and one for all others together. */
export function memberGauges(
  kind: 'index' | 'relation',
  largest: readonly Member[],
  all: readonly Member[],
): Metric[] {
  const shown = new Set(largest.map(({ name }) => name))
  const others = all.filter(({ name }) => !shown.has(name))
  return FIGURES[kind].flatMap(([figure, help]) => {
    // A figure that is not known of everything is 0.
    const of = (member: Member) => Number(member[figure] ?? 0)
    const samples = largest.map((member): Sample => [of(member), { [kind]: member.name }])
    const rest = others.reduce((sum, member) => sum + of(member), 0)
    const name = `${kind}_${figure.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
    const label = `The label is empty for all but the ${METERED_MEMBERS} largest together.`
    const shownToo: Sample[] = others.length === 0 ? [] : [[rest, { [kind]: OTHERS }]]
    return gauges({ [name]: [`${help} ${label}`, [...samples, ...shownToo]] })
  })
}
