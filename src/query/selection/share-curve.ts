import type { ShareCurve } from '../../../protocol/query/selection-costs.js'

/** What a curve comes to at a share of rows, from 0 to 1. */
export function valueAt(curve: ShareCurve, share: number): number {
  let below = { share: 0, value: 0 }
  for (const point of curve) {
    if (share <= point.share) {
      const place = (share - below.share) / (point.share - below.share)
      return below.value + place * (point.value - below.value)
    }
    below = point
  }
  return below.value
}
