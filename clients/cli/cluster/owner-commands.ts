import { badRequest, WarpdexError } from '../../../protocol/errors.js'
import type { ReplicaFigures } from '../../../protocol/replica.js'
import { quotedText } from '../../../protocol/shown.js'
import type { Client } from '../../sdk/index.js'
import { argument, command, JSON_OUTCOME } from '../command.js'
import { grouped, printOutcome } from '../output.js'
import { showProgress } from '../progress.js'
import { CLIENT_OPTIONS, withClient } from '../session.js'

const POLL_MS = 500

export const addMove = command({
  usage: 'move <set>',
  about: 'Have another node own a replica set',
  positionals: { set: argument('Number of the replica set, from 0 on') },
  options: {
    to: { type: 'string', demandOption: true, describe: 'Address of the node, as the cluster knows it' },
    ...CLIENT_OPTIONS,
    json: JSON_OUTCOME,
  },
  examples: [['$0 cluster move 0 --to ws://b:7070', 'for writes to replica set 0 from now on']],
  epilogue: 'It waits until the node has what the log has. Writes wait for a moment.',
  async run({ set: text, to, json, ...address }) {
    const set = /^\d+$/.test(text) ? Number(text) : undefined
    if (set === undefined) throw badRequest(`${quotedText(text)} is no number of a replica set, such as 0`)
    const owner = await withClient(address, (client) => handedOver(client, to, set), { set })
    if (owner !== to) throw untaken(`${to} has not taken replica set ${set}`, owner)
    return printOutcome(json, `${owner} owns replica set ${set}`, { owner })
  },
})

export const addDrain = command({
  usage: 'drain <node>',
  about: 'Have a node leave what it owns to another one, so that it can be stopped',
  positionals: { node: argument('Address of the node') },
  options: { token: CLIENT_OPTIONS.token, ca: CLIENT_OPTIONS.ca, json: JSON_OUTCOME },
  examples: [['$0 cluster drain ws://a:7070', 'before its machine is restarted, say']],
  async run({ node, json, ...secrets }) {
    // With a replica set, whichever, the client stays with the node.
    const owner = await withClient({ url: node, ...secrets }, (client) => handedOver(client), { set: 0 })
    if (owner === undefined) throw untaken('no other node has taken the replica set', owner)
    return printOutcome(json, `${owner} owns the replica set; ${node} can be stopped`, { owner })
  },
})

/** Hands a replica set over, and shows what the other node lacks. @returns address of its owner then, if one is known */
async function handedOver(client: Client, to?: string, set = 0): Promise<string | undefined> {
  const { sets = 1 } = client.server
  if (set >= sets) throw badRequest(`there is no replica set ${set}: the cluster has ${sets}, from 0 on`)
  const progress = showProgress('catching up', undefined)
  const timer = setInterval(async () => {
    const replica = (await client.stats().catch(() => undefined))?.server.replica as
      | ReplicaFigures
      | undefined
    const { successorLacks: lacks = 0 } = replica ?? {}
    progress.update(0, `${grouped(lacks)} positions of the log to go`)
  }, POLL_MS)
  try {
    return await client.handOver(to)
  } finally {
    clearInterval(timer)
    progress.stop()
  }
}

function untaken(what: string, owner: string | undefined): WarpdexError {
  const now = owner === undefined ? 'no node owns it at the moment' : `${owner} owns it`
  return new WarpdexError('CANCELLED', `${what}: ${now}`)
}
