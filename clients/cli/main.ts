#!/usr/bin/env node
import { keepYoungGenerationSmall } from './young-generation.js'

// Before anything else is loaded, which would have it grow.
if (process.argv[2] === 'serve') keepYoungGenerationSmall()
await import('./program.js')
