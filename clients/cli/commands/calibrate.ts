import type { SelectionCosts } from '../../../protocol/query/selection-costs.js'
import type { ReplyFields } from '../../../protocol/replies.js'
import { clientCommand, flag } from '../command.js'
import { asJson, grouped, printLines, table } from '../output.js'

export const add = clientCommand({
  usage: 'calibrate',
  about: "Print the costs that were measured on the server's adapter, by which plans are chosen",
  options: {
    again: flag('Measure anew, which takes seconds; needs the right "snapshot" on all indexes'),
    json: flag('Everything as one JSON object'),
  },
  examples: [
    ['$0 calibrate', 'what is known of the adapter'],
    ['$0 calibrate --again', 'after something else has kept the device busy, say'],
  ],
  async run(client, { again, json }) {
    const calibration = await client.calibration({ again })
    return printLines(json ? [asJson(calibration)] : calibrationLines(calibration))
  },
})

function calibrationLines({ adapter, traversals, selections }: ReplyFields['calibrate']): string[] {
  const { name, driver, software } = adapter
  const slow = software ? ' (a CPU does the work of a GPU: slow)' : ''
  return [
    ...table(['adapter', `${name}${slow}`], [['driver', driver === '' ? 'says nothing of itself' : driver]]),
    '',
    ...(selections === undefined
      ? ['Selections: not measured yet; the first one over a million rows has it done, or --again']
      : selectionLines(selections)),
    '',
    ...(traversals === undefined
      ? ['Traversals: not measured; the first index with a layout or partition levels of its own has it done']
      : traversalLines(traversals)),
  ]
}

function selectionLines(costs: SelectionCosts): string[] {
  const {
    workgroup,
    scan,
    rates,
    granule,
    branching,
    gather,
    gathering,
    mark,
    write,
    copy,
    predicate,
    match,
    launch,
    roundTrip,
  } = costs
  const columns = Math.max(rates.word.length, rates.wide.length)
  const rate = (list: readonly number[], k: number) => list[k]?.toFixed(2) ?? ''
  return [
    `Selections, in workgroups of ${workgroup}`,
    ...table(
      ['bandwidth, GB/s', '32-bit values', '64-bit values'],
      [
        ['scan', bandwidth(4, scan.word), bandwidth(8, scan.wide)],
        ['gather at row numbers', bandwidth(4, gather.word), bandwidth(8, gather.wide)],
        ['write', bandwidth(4, write), bandwidth(8, 2 * write)],
        ['copy, read and written', bandwidth(8, copy), bandwidth(16, 2 * copy)],
      ],
    ),
    '',
    ...table(
      ['r_k, scans of k columns', '32-bit values', '64-bit values'],
      Array.from({ length: columns }, (_, k) => [`${k + 1}`, rate(rates.word, k), rate(rates.wide, k)]),
    ),
    '',
    ...table(
      ['predicate beyond reading', 'ps a row'],
      [
        ['interval', picoseconds(predicate.interval)],
        ['step of a search among intervals', picoseconds(predicate.search)],
        ['bit table', picoseconds(predicate.table)],
        ['part of an expression', picoseconds(predicate.expression)],
        ['strings, none of which is matched', picoseconds(match.row)],
        ['a string matched', picoseconds(match.string)],
        ['each of its bytes', picoseconds(match.byte)],
      ],
    ),
    '',
    ...shareLines(costs),
    '',
    `rows fetched together: ${Math.round(granule)}; noting which pass: ${picoseconds(mark)} ps a row`,
    `strings matched at a time: ${grouped(Math.round(match.tiles * match.tile))}`,
    `a branch: ${microseconds(branching)}; reading at few row numbers: ${microseconds(gathering)}`,
    `a kernel: ${microseconds(launch)}; to learn how many rows are left: ${microseconds(roundTrip)}`,
  ]
}

/** Curves have the same shares where one calibration has measured them. */
function shareLines({ branch, match }: SelectionCosts): string[] {
  const rows = branch.map(({ share, value }, i) => [
    `${figure(share * 100)} %`,
    value.toFixed(2),
    match.part.string[i]?.value.toFixed(2) ?? '',
    match.part.byte[i]?.value.toFixed(2) ?? '',
    match.branched[i] === undefined ? '' : picoseconds(match.branched[i].value),
  ])
  return table(
    ['of the rows', 'of a column', 'of strings', 'of bytes', 'more behind a branch, ps a row'],
    rows,
  )
}

/** The planner works with sums of a few features; the names are its own. */
function traversalLines(costs: Readonly<Record<string, number>>): string[] {
  const rows = Object.entries(costs).map(([name, cost]) => [name, figure(cost)])
  return table(['traversals: cost of', 'µs'], rows)
}

/** Three digits that matter, and all of those before the point. */
function figure(value: number): string {
  return value >= 100 ? grouped(value) : value.toPrecision(3)
}

/** Bytes a nanosecond are gigabytes a second. */
function bandwidth(bytes: number, nanoseconds: number): string {
  return nanoseconds === 0 ? '—' : figure(bytes / nanoseconds)
}

function picoseconds(nanoseconds: number): string {
  return figure(nanoseconds * 1e3)
}

function microseconds(nanoseconds: number): string {
  return `${figure(nanoseconds / 1e3)} µs`
}
