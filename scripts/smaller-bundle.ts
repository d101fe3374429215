// What makes a bundle take less memory when it runs.
import type { Plugin } from 'rolldown';

/** In the place of modules that our programs never call, however they are imported. */
const replacements: Readonly<Record<string, string>> = {
  // The server brings its own validation and serialisation; these would be read, and kept, all the same.
  '@fastify/ajv-compiler': 'module.exports = null;',
  '@fastify/fast-json-stringify-compiler': 'module.exports = null;',
  // `import` of it reads everything that it exports, which makes Node load a WebSocket client of 6 MB.
  'node:http': `export const { request, STATUS_CODES } = process.getBuiltinModule('node:http');`,
};
const replaced = '\0replaced:';

const withoutUnused: Plugin = {
  name: 'without-unused',
  resolveId: (id, _importer, { kind }) =>
    id in replacements && !(id.startsWith('node:') && kind === 'require-call') ? `${replaced}${id}` : null,
  load: (id) => (id.startsWith(replaced) ? (replacements[id.slice(replaced.length)] ?? null) : null),
};

/** A single character beyond Latin-1 makes the engine keep the whole file with two bytes a character. */
const inAscii: Plugin = {
  name: 'in-ascii',
  generateBundle: (_options, bundle) => {
    for (const piece of Object.values(bundle)) {
      if (piece.type === 'chunk') piece.code = piece.code.replace(/[^\0-\x7f]/g, escapeUnit);
    }
  },
};
const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

export const smallerBundle: Plugin[] = [withoutUnused, inAscii];
