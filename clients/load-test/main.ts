#!/usr/bin/env node
import { runProgram } from '../cli/program.js'
import { add } from './command.js'

await runProgram({
  name: 'warpdex-loadtest',
  title: 'warpdex-loadtest',
  declare: add,
})
