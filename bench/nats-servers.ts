import { mkdirSync } from 'node:fs'
import { KeptProcess } from '../clients/cli/cluster/kept-process.js'
import { type LocalNats, localNats, PORTS_OF_NATS_SERVER } from '../clients/cli/cluster/local-nats.js'
import { freePorts } from '../clients/cli/cluster/ports.js'

/** What is to be ended, the last first. */
export type Ends = (() => unknown)[]

/** Starts so many NATS servers, which end with this process. @param directory of their data, which is made */
export async function startNats(directory: string, count: number, ends: Ends): Promise<LocalNats> {
  mkdirSync(directory)
  const nats = localNats(directory, await freePorts(0, count * PORTS_OF_NATS_SERVER))
  const processes = nats.servers.map((server) => new KeptProcess(server, console.log))
  process.once('exit', () => {
    for (const one of processes) one.signal('SIGKILL')
  })
  ends.push(() => Promise.all(processes.map((one) => one.stop())))
  await Promise.all(processes.map((one) => one.ready(new AbortController().signal)))
  return nats
}
