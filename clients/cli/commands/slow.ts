import { setTimeout as pause } from 'node:timers/promises'
import type { SlowRequest } from '../../../protocol/slow-request.js'
import { clientCommand, flag } from '../command.js'
import { asJson, bytesText, grouped, printLines, table } from '../output.js'

/** How often to look for more. */
const PAUSE_MS = 1000

export const add = clientCommand({
  usage: 'slow',
  about:
    'Print the last requests that took longer than --slow-milliseconds of the server, the latest one last',
  options: {
    json: flag('One JSON object per request'),
    follow: flag('Continue with new ones until interrupted'),
  },
  examples: [
    ['$0 slow', 'what was slow'],
    ['$0 slow --follow --json', 'past and future slow requests, for a program'],
  ],
  async run(client, { json, follow }) {
    const { threshold, requests } = await client.slowRequests()
    const shown = json ? jsonLines : slowLines
    if (requests.length > 0) await printLines(shown(requests))
    else if (!json) await printLines([nothingText(threshold)])
    let after = requests.at(-1)?.number ?? 0
    while (follow) {
      await pause(PAUSE_MS)
      const { requests: more } = await client.slowRequests({ after })
      await printLines(shown(more))
      after = more.at(-1)?.number ?? after
    }
  },
})

function nothingText(threshold: number): string {
  return threshold === 0
    ? 'the server keeps no slow requests; start it with --slow-milliseconds'
    : `no request took longer than ${grouped(threshold)} ms`
}

function jsonLines(requests: readonly SlowRequest[]): string[] {
  return requests.map(({ at, ...request }) => asJson({ at: new Date(at).toISOString(), ...request }))
}

function slowLines(requests: readonly SlowRequest[]): string[] {
  if (requests.length === 0) return []
  const rows = requests.map(
    ({ at, op, outcome, milliseconds, times, keys, rows, bytesIn, bytesOut, ...more }) => [
      new Date(at).toISOString(),
      op,
      outcome,
      `${grouped(milliseconds)} ms`,
      times === undefined ? '' : [times.waiting, times.running, times.replying].map(grouped).join(' + '),
      keys,
      rows,
      `${bytesText(bytesIn)}, ${bytesText(bytesOut)}`,
      askerText(more),
      more.statement ?? more.names.join(', '),
    ],
  )
  const parts = 'waiting + running + replying'
  return table(
    ['time', 'operation', 'outcome', 'took', parts, 'keys', 'rows', 'bytes in, out', 'client', 'on'],
    rows,
  )
}

function askerText({ token, address = 'a Unix socket' }: Pick<SlowRequest, 'token' | 'address'>): string {
  return token === undefined ? address : `${token} at ${address}`
}
