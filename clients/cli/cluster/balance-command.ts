import { setTimeout as pause } from 'node:timers/promises'
import { badRequest, toWarpdexError } from '../../../protocol/errors.js'
import { quotedText } from '../../../protocol/shown.js'
import { command, flag, text } from '../command.js'
import { untilSignal } from '../interrupt.js'
import { keyAsJson, showKey } from '../keys.js'
import { asJson, grouped, printLines } from '../output.js'
import { CLIENT_OPTIONS, type ServerAddress, withClient } from '../session.js'
import { type Balanced, Balancer } from './balance.js'

export const addBalance = command({
  usage: 'balance',
  about: 'Split indexes anew whose parts on the replica sets are of unlike sizes, while they are used',
  options: {
    ...CLIENT_OPTIONS,
    ratio: {
      ...text('How many times the entries of the smallest part the largest has at least'),
      default: '2',
    },
    least: { ...text('Entries that the largest part has at least'), default: '100000' },
    'spread-from': text(
      'Entries from which an index that is on one replica set is spread; by default it stays there',
    ),
    every: text('Seconds until it looks again; by default it looks once'),
    'dry-run': flag('Say what would be done, and do nothing'),
    json: flag('One JSON object per index'),
  },
  examples: [
    ['$0 cluster balance --dry-run', 'what would be split, and how'],
    ['$0 cluster balance --every 60', 'for a service beside the cluster'],
  ],
  epilogue:
    'Each index that is split already gets a part of as many entries on each replica set of the cluster. A split copies the whole index.',
  async run({ ratio, least, spreadFrom, every, dryRun, json, ...address }) {
    const balancer = new Balancer({
      // A split for less would move nearly all for nearly nothing.
      ratio: numberIn('ratio', ratio, 1.5),
      least: numberIn('least', least, 1),
      spreadFrom: numberIn('spread-from', spreadFrom ?? 'Infinity', 1),
      dryRun,
    })
    const seconds = every === undefined ? undefined : numberIn('every', every, 1)
    await untilSignal(async (signal) => {
      const look = () =>
        balanceOnce(address, balancer, signal, (one) => printLines([lineOf(one, dryRun, json)]))
      if (seconds === undefined) {
        if ((await look()) === 0 && !json) await printLines(['nothing to balance'])
        return
      }
      while (!signal.aborted) {
        await look().catch((error: unknown) => {
          if (!signal.aborted) console.error(`warpdex: ${toWarpdexError(error).message}`)
        })
        await pause(1000 * seconds, undefined, { signal }).catch(() => {})
      }
    })
  },
})

/** @throws WarpdexError `BAD_REQUEST` */
function numberIn(name: string, text: string, least: number): number {
  const number = /^(\d+(\.\d+)?|Infinity)$/.test(text) ? Number(text) : 0
  if (number >= least) return number
  throw badRequest(`--${name} is ${quotedText(text)}; it must be a number from ${least} on`)
}

/** @returns how many indexes there were to balance */
async function balanceOnce(
  address: ServerAddress,
  balancer: Balancer,
  signal: AbortSignal,
  onBalanced: (one: Balanced) => Promise<void>,
): Promise<number> {
  return withClient(address, async (client) => {
    if (client.server.sets === undefined)
      throw badRequest('there is one replica set; indexes are balanced between several')
    let count = 0
    for await (const one of balancer.balance(client, signal)) {
      await onBalanced(one)
      count++
    }
    return count
  })
}

function lineOf({ index, before, splitAt, entries }: Balanced, dryRun: boolean, json: boolean): string {
  const { name, keyType } = index
  if (json) {
    const keys = splitAt?.map((key) => keyAsJson(key, keyType, false))
    return asJson({ index: name, before, entries, splitAt: keys, split: splitAt !== undefined && !dryRun })
  }
  const had = `${name}: ${listed(before)} entries on replica sets 0 to ${before.length - 1}`
  if (entries === undefined || splitAt === undefined) return `${had}; no keys divide them better`
  const keys = splitAt.map((key) => showKey(key, keyType, false)).join(' ')
  return `${had}; ${dryRun ? 'to split' : 'split'} at ${keys}, with ${listed(entries)} each`
}

function listed(numbers: readonly number[]): string {
  return numbers.map(grouped).join(' / ')
}
