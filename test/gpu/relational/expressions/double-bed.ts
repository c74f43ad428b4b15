import type { Test } from 'tap'
import type { Device } from '../../../../gpu/device/device.js'
import { GeneratedKernels } from '../../../../gpu/relational/expressions/generated-kernels.js'

/** What a kernel is to compute of `a` and `b` of each row. */
export interface Computed {
  /** Functions of the module that it calls. */
  readonly uses: string
  /** WGSL of the result. */
  readonly result: string
  /** Words of `a`, of `b` and of the result; 2 unless given. */
  readonly left?: 2 | 4
  readonly right?: 2 | 4
  readonly words?: 2 | 4
}

/** Gives the words of each row's result. */
export type Compute = (
  computed: Computed,
  a: ArrayBufferLike,
  b: ArrayBufferLike,
) => Promise<Uint32Array<ArrayBuffer>>

/** Computes with functions of a module on a device. */
export function computedOn(device: Device, module: string): Compute {
  const kernels = new GeneratedKernels(device)
  const path = module.replaceAll('/', '::').replaceAll('-', '_')
  return async ({ uses, result, left = 2, right = 2, words = 2 }, a, b) => {
    const text = `import package::device::grid::global_index;
import package::${path}::{${uses}};
struct Params { count: u32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> left: array<vec${left}u>;
@group(0) @binding(1) var<storage, read> right: array<vec${right}u>;
@group(0) @binding(2) var<storage, read_write> results: array<vec${words}u>;
@compute @workgroup_size(256)
fn compute(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let row = global_index(id, groups);
  if (row >= params.count) { return; }
  let a = left[row];
  let b = right[row];
  results[row] = ${result};
}
`
    const generated = { module: `${module}_test`, text }
    const kernel = await kernels.get({ module: generated.module, generated }, 'compute')
    const scratch = device.scratch()
    const recorder = device.record()
    const upload = (bytes: ArrayBufferLike) => {
      const buffer = scratch.words(bytes.byteLength / 4)
      device.upload(buffer, new Uint8Array(bytes))
      return buffer
    }
    const count = a.byteLength / 4 / left
    const results = scratch.words(count * words)
    recorder.dispatch(kernel, { left: upload(a), right: upload(b), results }, { count }, count)
    const [read] = await device.submitAndRead(recorder, [{ buffer: results, bytes: 4 * count * words }])
    scratch.release()
    return Uint32Array.from(new Uint32Array(read!.buffer, read!.byteOffset, count * words))
  }
}

const hex = (high: number, low: number) =>
  `${high.toString(16).padStart(8, '0')} ${low.toString(16).padStart(8, '0')}`

/** Fails at the first row whose words are not the wanted ones. */
export function check(
  t: Test,
  found: Uint32Array,
  wanted: Uint32Array,
  rowOf: (row: number) => string,
): void {
  for (let i = 0; i < wanted.length; i += 2) {
    if (found[i] === wanted[i] && found[i + 1] === wanted[i + 1]) continue
    const [is, instead] = [hex(found[i + 1]!, found[i]!), hex(wanted[i + 1]!, wanted[i]!)]
    t.fail(`row ${i / 2}, ${rowOf(i / 2)}: ${is} instead of ${instead}`)
    return
  }
  t.equal(found.length, wanted.length)
}

/** Bits of doubles, with one NaN. */
export function bitsOf(values: Float64Array<ArrayBuffer>): Uint32Array {
  const bits = new Uint32Array(values.buffer)
  for (const [i, value] of values.entries()) {
    if (Number.isNaN(value)) bits.set([0, 0x7ff80000], 2 * i)
  }
  return bits
}
