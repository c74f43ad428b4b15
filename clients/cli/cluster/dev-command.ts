import { resolve } from 'node:path'
import { badRequest } from '../../../protocol/errors.js'
import { quotedText } from '../../../protocol/shown.js'
import { command, text } from '../command.js'
import { printLines } from '../output.js'

const MOST_NODES = 64

export const addDev = command({
  usage: 'dev',
  about: 'Start a cluster on this machine, for trials: nodes, and three NATS servers',
  options: {
    nodes: { ...text('How many nodes'), default: '3' },
    gpus: text('all: a node for each of several GPUs of this machine, instead of --nodes'),
    directory: { ...text('Folder of all data and logs; created if missing'), default: 'warpdex-cluster' },
    port: {
      ...text(
        'Port of the first node; the others and the NATS servers take those behind it. 0 takes free ones',
      ),
      default: '7070',
    },
    adapter: { ...text('Adapter of the nodes: auto, hardware or software'), default: 'auto' },
    'replica-sets': { ...text('Replica sets of the cluster'), default: '1' },
  },
  examples: [
    ['$0 cluster dev', 'three nodes, with all data in ./warpdex-cluster'],
    ['$0 cluster dev --gpus all --replica-sets 2', 'indexes are spread over two GPUs'],
  ],
  epilogue:
    'It needs nats-server on the PATH. Variables with settings of servers, as WARPDEX_TOKEN, hold for the nodes.\n' +
    'Ctrl-C stops everything; the next start goes on with the data.',
  async run({ nodes, gpus, directory, port, adapter, replicaSets }) {
    const { loadConfig } = await import('../../../src/config/load.js')
    const { serveUntilSignal } = await import('../../../src/server/signals.js')
    const { DevCluster } = await import('./dev-cluster.js')
    const { prefixesFor } = await import('./gpus.js')
    const config = loadConfig({ flags: { port, adapter, replicaSets } })
    const prefixes = gpus === undefined ? [] : prefixesFor(gpus)
    const count = parseNodes(gpus === undefined ? nodes : String(prefixes.length), config.replicaSets)
    const say = (text: string) => void printLines([text])
    const start = async (stop: AbortSignal) => {
      const cluster = await DevCluster.start(
        {
          directory,
          nodes: count,
          prefixes,
          port: config.port,
          flags: ['--adapter', config.adapter, '--replica-sets', String(config.replicaSets)],
          onNotice: say,
        },
        stop,
      )
      say(adviceFor(cluster.urls.join(','), directory))
      return cluster
    }
    // Its nodes have the time that a server has, and then the NATS servers end.
    await serveUntilSignal(start, { shutdownSeconds: 2 * config.shutdownSeconds, onWarning: say })
  },
})

/** @throws WarpdexError `BAD_REQUEST` */
function parseNodes(nodes: string, replicaSets: number): number {
  const count = /^\d+$/.test(nodes) ? Number(nodes) : 0
  if (count < 1 || count > MOST_NODES)
    throw badRequest(`--nodes is ${quotedText(nodes)}; it must be a whole number from 1 to ${MOST_NODES}`)
  if (count < replicaSets)
    throw badRequest(`--nodes is ${count}, and each of --replica-sets ${replicaSets} needs a node`)
  return count
}

function adviceFor(addresses: string, directory: string): string {
  return [
    '',
    '  Talk to it from another terminal:',
    '',
    `    export WARPDEX_URL=${addresses}`,
    '    npx warpdex create numbers --key u32 --payload u32 --unique',
    '    npx warpdex put numbers 1 100',
    '    npx warpdex cluster status',
    '',
    `  Ctrl-C stops it; all data stays in ${resolve(directory)}.`,
  ].join('\n')
}
