// Writes the files that are generated from declarations.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateFiles, root } from './generated-files.ts';

for (const [path, content] of Object.entries(await generateFiles())) writeFileSync(join(root, path), content);
