import { RESOLUTIONS, STRATEGIES } from '../../protocol/traversal.js'

/** The options that say how keys are to be found. */
export const TRAVERSAL_OPTIONS = {
  strategy: {
    choices: STRATEGIES,
    requiresArg: true,
    describe: 'How to go down the tree; the server chooses where it is not said',
  },
  resolution: {
    choices: RESOLUTIONS,
    requiresArg: true,
    describe: "How partitions' results become one, for strategies that go down partitions",
  },
} as const
