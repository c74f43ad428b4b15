import { testCases } from '../tree-cases.js'

testCases('css')
