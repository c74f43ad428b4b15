import t from 'tap'
import { checkTuples } from '../../../../bench/papers/diamos/host-tuples.js'
import { operatorSteps } from '../../../../bench/papers/diamos/operators.js'
import { Queried } from '../../../../bench/papers/diamos/queried.js'
import { QueryKernels } from '../../../../gpu/relational/query/query-kernels.js'
import { openDevice } from '../../../gpu/open-device.js'

t.test('queries give what plain loops give', async (t) => {
  const device = await openDevice(t)
  const kernels = await QueryKernels.create(device)
  for (const { name, relations, query, wanted } of operatorSteps(2 ** 10)) {
    const queried = await Queried.store(device, kernels, relations)
    checkTuples(name, await queried.read(queried.check(query)), wanted)
    queried.destroy()
    t.pass(name)
  }
})
