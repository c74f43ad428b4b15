import t from 'tap'
import { benchCtaJoins } from '../../../../bench/papers/diamos/cta-joins.js'
import { Primitives } from '../../../../gpu/primitives/primitives.js'
import { openDevice } from '../../../gpu/open-device.js'

t.test('every way to join gives what a plain loop gives, and has figures', async (t) => {
  const device = await openDevice(t)
  const primitives = await Primitives.create(device)
  const setting = { device, primitives, effort: { repeats: 1, seconds: 0 } }
  const rows = await benchCtaJoins(setting, 10, true)
  const whole = rows.filter(({ name }) => name.endsWith('2^10'))
  t.equal(whole.length, 6)
  for (const { name, figures } of whole) t.ok(Number(figures.µs) > 0, name)
})
