import type { ExpiryFigures } from '../../protocol/expiry.js'
import type { Explanation, ResultTableRow, ResultTables } from '../../protocol/traversal.js'
import { grouped, table } from './output.js'

const NOTHING = 'NULL'

/**
 * What a server says of how it would look keys up, for people: the choice and its reason, what each strategy would take, and the
 * result tables of the first key as Volk's Tables 1 and 2 have them.
 *
 * @param firstKey the first key in words
 */
export function explanationLines(explanation: Explanation, firstKey: string): string[] {
  const { strategy, resolution, reason, batch, digits, partitions, costs, tables, expiry } = explanation
  const facts = [
    ['strategy', strategy],
    ['resolution', resolution ?? 'none'],
    ['reason', reason],
    ['keys', `${grouped(batch)} of at most ${grouped(digits)} digits`],
    [
      'partitions',
      partitions === null ? 'none' : `${grouped(partitions.count)} of ${partitions.levels} levels`,
    ],
    ...(expiry === undefined ? [] : [['expiry', expiryText(expiry)]]),
  ]
  return [
    ...table(['', ''], facts).slice(1),
    ...(costs.length === 0 ? [] : ['', ...costLines(costs)]),
    ...(tables === null ? [] : ['', ...tableLines(tables, firstKey)]),
  ]
}

function expiryText({ expired, expiring, nextExpiry }: ExpiryFigures): string {
  const next = nextExpiry === undefined ? '' : `, the next not before ${new Date(nextExpiry).toISOString()}`
  return `${grouped(expired)} entries are gone, ${grouped(expiring)} are to go${next}`
}

function costLines(costs: Explanation['costs']): string[] {
  const rows = costs.map(({ strategy, resolution, microseconds }) => [
    strategy,
    resolution ?? '',
    `${microseconds.toLocaleString('en-US', { maximumFractionDigits: 1 })} µs`,
  ])
  return table(['strategy', 'resolution', 'estimate'], rows)
}

function tableLines({ rows, omitted, answer }: ResultTables, firstKey: string): string[] {
  return [
    `Results of the partitions for ${firstKey}`,
    ...table(['Sub-Tree', 'Result'], rows.map(resultRow)),
    '',
    'The same reversed',
    ...table(['Sub-Tree', 'Result', 'Payload'], rows.map(reversedRow)),
    '',
    ...(omitted === 0
      ? []
      : [`${grouped(omitted)} more rows were left out, those that are all ${NOTHING} first.`]),
    answer === null
      ? 'No partition holds the answer: the index does not have the key.'
      : `Partition ${answer} holds the answer.`,
  ]
}

function resultRow({ partition, result }: ResultTableRow): string[] {
  return [String(partition), result === 'payload' ? 'Payload' : String(result ?? NOTHING)]
}

function reversedRow({ partition, predecessor, result }: ResultTableRow): string[] {
  return [String(partition), String(predecessor ?? NOTHING), result === 'payload' ? 'payload' : NOTHING]
}
