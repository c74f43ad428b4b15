import { toWarpdexError } from '../../../protocol/errors.js'
import type { ReplicaFigures } from '../../../protocol/replica.js'
import { command, flag } from '../command.js'
import { ExitCode } from '../exit-code.js'
import { asJson, printLines, table } from '../output.js'
import { addressesOf, CLIENT_OPTIONS, type ServerAddress, withClient } from '../session.js'

/** How long a node has for its answer once it is connected. */
const ANSWER_MS = 5000

/** What a node says of itself, or why it says nothing. */
interface NodeStatus extends Partial<ReplicaFigures> {
  readonly node: string
  readonly error?: string
}

export const addStatus = command({
  usage: 'status',
  about: 'Ask the nodes of a cluster how they are',
  options: { ...CLIENT_OPTIONS, json: flag('All nodes as JSON') },
  examples: [['$0 cluster status --url ws://a:7070,ws://b:7070,ws://c:7070', 'all nodes that are named']],
  epilogue:
    'Behind is how many positions of the log a node lacks that another one has.\n' +
    'Exit code 0, or 1 if a node does not answer or its replica set has no owner.',
  async run({ url, token, ca, json }) {
    const nodes = await Promise.all(addressesOf(url).map((node) => statusOf(node, { url: node, token, ca })))
    const furthest = new Map<string | undefined, number>()
    for (const { name, position = 0 } of nodes)
      furthest.set(name, Math.max(position, furthest.get(name) ?? 0))
    const rows = nodes.map((node) => {
      const { name, position } = node
      return position === undefined ? node : { ...node, behind: furthest.get(name)! - position }
    })
    if (rows.some(({ owner }) => owner === undefined)) process.exitCode = ExitCode.miss
    return printLines(json ? [asJson(rows)] : linesOf(rows))
  },
})

async function statusOf(node: string, address: ServerAddress): Promise<NodeStatus> {
  try {
    // With a replica set, whichever, the client stays with the node, which tells its own figures.
    const { server } = await withClient(address, (client) => client.stats({ deadline: ANSWER_MS }), {
      set: 0,
    })
    const replica = server.replica as ReplicaFigures | undefined
    return replica === undefined ? { node, error: `${node} is no node of a cluster` } : { node, ...replica }
  } catch (thrown) {
    return { node, error: toWarpdexError(thrown).message }
  }
}

function linesOf(nodes: readonly (NodeStatus & { readonly behind?: number })[]): string[] {
  const cells = nodes.map(({ node, name, role, owner, position, behind }) => [
    node,
    name ?? '',
    role ?? 'no answer',
    owner ?? (role === undefined ? '' : 'none'),
    position ?? '',
    behind ?? '',
  ])
  return [
    ...table(['node', 'replica set', 'role', 'owner', 'position', 'behind'], cells),
    ...nodes.flatMap(({ error }) => error ?? []),
  ]
}
