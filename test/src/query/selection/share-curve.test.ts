import t from 'tap'
import { valueAt } from '../../../../src/query/selection/share-curve.js'

t.test('a curve begins at nothing and is straight between its points', async (t) => {
  const curve = [
    { share: 0.25, value: 0.5 },
    { share: 0.5, value: 0.75 },
    { share: 1, value: 1 },
  ]
  const at = (share: number) => valueAt(curve, share)
  t.strictSame([0, 0.125, 0.25, 0.375, 0.5, 0.75, 1].map(at), [0, 0.25, 0.5, 0.625, 0.75, 0.875, 1])
  t.equal(at(1 + 1e-9), 1, 'of shares that are more than all by rounding')
  t.equal(valueAt([{ share: 1, value: 7 }], 0.5), 3.5)
})
