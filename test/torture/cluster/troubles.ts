import type { Nodes } from './nodes.js'
import { WHOLE } from './tcp-proxy.js'

/** Something that goes wrong for a while with one of the nodes, or of the NATS servers. */
export interface Trouble {
  /** Milliseconds for which it lasts. */
  readonly longest: number
  readonly of: 'node' | 'NATS server'
  /** Whether disks are needed that can be filled. */
  readonly isOfDisks?: boolean
  begin(nodes: Nodes, i: number): void | Promise<void>
  end(nodes: Nodes, i: number): void | Promise<void>
}

const BOTH = { toServer: true, toClient: true }

function cutOff(cut: Parameters<Nodes['cut']>[1]): Trouble {
  return {
    longest: 8000,
    of: 'node',
    begin: (nodes, i) => nodes.cut(i, cut),
    end: (nodes, i) => nodes.cut(i, {}),
  }
}

/** By name. Leases last for 3 seconds. */
export const TROUBLES: Readonly<Record<string, Trouble>> = {
  'node killed': {
    longest: 5000,
    of: 'node',
    begin: (nodes, i) => nodes.kill(i),
    end: (nodes, i) => nodes.run(i),
  },
  'node paused': {
    longest: 8000,
    of: 'node',
    begin: (nodes, i) => nodes.pause(i),
    end: (nodes, i) => nodes.resume(i),
  },
  'node emptied': {
    longest: 3000,
    of: 'node',
    begin: async (nodes, i) => {
      await nodes.kill(i)
      await nodes.empty(i)
    },
    end: (nodes, i) => nodes.run(i),
  },
  'node drained': {
    longest: 1000,
    of: 'node',
    begin: (nodes, i) => nodes.drain(i),
    end: () => {},
  },
  'node cut off': cutOff({ nats: BOTH, clients: BOTH }),
  'node cut off from NATS': cutOff({ nats: BOTH }),
  'node cannot send to NATS': cutOff({ nats: { ...WHOLE, toServer: true } }),
  'node cannot hear NATS': cutOff({ nats: { ...WHOLE, toClient: true } }),
  'node cannot answer clients': cutOff({ clients: { ...WHOLE, toClient: true } }),
  'node whose clock jumps': {
    longest: 8000,
    of: 'node',
    begin: (nodes, i) => nodes.jump(i),
    end: (nodes, i) => nodes.jump(i),
  },
  'node whose disk is full': {
    longest: 5000,
    of: 'node',
    isOfDisks: true,
    begin: (nodes, i) => nodes.diskOfNode(i)?.fill(),
    end: (nodes, i) => nodes.diskOfNode(i)?.free(),
  },
  'NATS server killed': {
    longest: 5000,
    of: 'NATS server',
    begin: ({ nats }, i) => nats.kill(i),
    end: ({ nats }, i) => nats.run(i),
  },
  'NATS server paused': {
    longest: 8000,
    of: 'NATS server',
    begin: ({ nats }, i) => nats.pause(i),
    end: ({ nats }, i) => nats.resume(i),
  },
  'NATS server whose disk is full': {
    longest: 5000,
    of: 'NATS server',
    isOfDisks: true,
    begin: (nodes, i) => nodes.diskOfNats(i)?.fill(),
    // It keeps nothing any more until it is started again.
    end: async (nodes, i) => {
      await nodes.nats.kill(i)
      nodes.diskOfNats(i)?.free()
      await nodes.nats.run(i)
    },
  },
}
