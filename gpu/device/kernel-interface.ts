import { WarpdexError } from '../../protocol/errors.js'

/** How a kernel uses a binding: `read` is `var<storage, read>`, `write` is `var<storage, read_write>`. */
export type Access = 'read' | 'write'

/** A buffer that a kernel works with. */
export interface Binding {
  readonly number: number
  readonly access: Access
  readonly name: string
}

/** What a kernel is dispatched with, as its linked module declares it; names are in camel case, as the host has them. */
export interface KernelInterface {
  readonly bindings: readonly Binding[]
  /** Members of `Params` in their order, u32 each. */
  readonly params: readonly string[]
  /** Those of them that it looks at. */
  readonly needed: ReadonlySet<string>
}

const BINDING = /@group\(0\)\s*@binding\((\d+)\)\s*var<storage,\s*(read|read_write)>\s*(\w+)/g
const PARAMS = /\bstruct Params\s*\{([^}]*)\}/
const FUNCTION = /\bfn\s+(\w+)\s*\(/g
/** Names that are not members of something else. */
const NAME = /(?<![.\w])(?:params\.)?[a-zA-Z_]\w*/g
const LOCAL = /\b(?:let|var|const)\s+(\w+)|(\w+)\s*:/g

/**
 * Finds what an entry point needs: the bindings that it names, or functions that it calls. A name that a function declares itself stands for
 * no binding there.
 */
export function interfaceOf(code: string, entryPoint: string): KernelInterface {
  const plain = code.replace(/\/\/.*$/gm, '')
  const functions = functionsOf(plain)
  const reached = new Set<string>()
  const open = [entryPoint]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const names = functions.get(name)
    if (names === undefined || reached.has(name)) continue
    reached.add(name)
    for (const next of names) {
      if (functions.has(next)) open.push(next)
      else reached.add(next)
    }
  }
  if (!functions.has(entryPoint)) throw new WarpdexError('INTERNAL', `there is no kernel ${entryPoint}`)
  const bindings = Array.from(plain.matchAll(BINDING), ([, number, access, name]): Binding => {
    return { number: Number(number), access: access === 'read' ? 'read' : 'write', name: name! }
  })
    .filter(({ name }) => reached.has(name))
    .map((binding) => ({ ...binding, name: camelCase(binding.name) }))
  const numbers = new Set(bindings.map(({ number }) => number))
  if (numbers.size < bindings.length) {
    const names = bindings.map(({ number, name }) => `${number} ${name}`).join(', ')
    throw new WarpdexError('INTERNAL', `${entryPoint} has two bindings of one number: ${names}`)
  }
  const [, members = ''] = PARAMS.exec(plain) ?? []
  const params = Array.from(members.matchAll(/(\w+)\s*:/g), ([, name]) => name!)
  const needed = params.filter((name) => reached.has(`params.${name}`))
  return { bindings, params: params.map(camelCase), needed: new Set(needed.map(camelCase)) }
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The names that each function uses and does not declare. */
function functionsOf(code: string): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>()
  for (const { index, 1: name } of code.matchAll(FUNCTION)) {
    const text = code.slice(index, endOfBlock(code, index))
    const locals = new Set(Array.from(text.matchAll(LOCAL), ([, declared, given]) => declared ?? given))
    const used = Array.from(text.matchAll(NAME), ([used]) => used)
    found.set(name!, new Set(used.filter((used) => used !== name && !locals.has(used))))
  }
  return found
}

/** Where the block that begins next ends. */
function endOfBlock(code: string, from: number): number {
  let depth = 0
  for (let i = code.indexOf('{', from); i < code.length; i++) {
    if (code[i] === '{') depth++
    else if (code[i] === '}' && --depth === 0) return i + 1
  }
  return code.length
}
