import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv, type Plugin, type Rolldown } from 'vite';

const here = import.meta.dirname;

/** `npm run dev -w @station/web` shows the page with the backend of BACKEND_URL (default: http://127.0.0.1:3000) behind it. */
export default defineConfig(({ mode }) => {
  const env = loadEnv(mode, here, ['BACKEND_URL', 'WEB_PORT']);
  const backend = env['BACKEND_URL'] ?? 'http://127.0.0.1:3000';
  return {
    root: here,
    plugins: [
      react(),
      tailwindcss(),
      initialSize({
        budgetBytes: 150_000,
        alwaysBeside: (id) => /\/i18n\/(en|uk)\/first\.ts$/.test(id),
        pages: (id) => /-page\.tsx$/.test(id),
      }),
    ],
    build: {
      outDir: join(here, '../../dist/web'),
      emptyOutDir: true,
      target: ['chrome116', 'firefox124', 'safari17.4'],
      // A data: address would need an exception in the Content-Security-Policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
    server: {
      host: '127.0.0.1',
      port: Number(env['WEB_PORT'] ?? 5173),
      proxy: {
        '/api': backend,
        '/provisioning': backend,
        '/ws': { target: backend, ws: true },
      },
    },
  };
});

/**
 * Prints how much JavaScript the first page needs, gzip, and fails the build past the budget: the entry, everything it imports
 * at once, and the largest single chunk of `alwaysBeside` and of `pages`, since one language and one page come with it.
 */
function initialSize(options: {
  budgetBytes: number;
  alwaysBeside: (moduleId: string) => boolean;
  pages: (moduleId: string) => boolean;
}): Plugin {
  return {
    name: 'initial-size',
    apply: 'build',
    generateBundle(_output, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const sizeOf = (names: Set<string>): number =>
        chunks
          .filter((chunk) => names.has(chunk.fileName))
          .reduce((sum, chunk) => sum + gzipSync(chunk.code).length, 0);
      const entry = reach(
        chunks,
        chunks.filter((chunk) => chunk.isEntry),
      );
      const largest = (wanted: (id: string) => boolean): { name: string; bytes: number } =>
        chunks
          .filter((chunk) => chunk.isDynamicEntry && wanted(chunk.facadeModuleId ?? ''))
          .map((chunk) => ({ name: chunk.name, bytes: sizeOf(reach(chunks, [chunk]).difference(entry)) }))
          .reduce((most, one) => (one.bytes > most.bytes ? one : most), { name: 'none', bytes: 0 });
      const language = largest(options.alwaysBeside);
      const page = largest(options.pages);
      const total = sizeOf(entry) + language.bytes + page.bytes;
      const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
      const line =
        `initial JavaScript: ${kB(total)} gzip of ${kB(options.budgetBytes)} ` +
        `(shell ${kB(sizeOf(entry))}, language ${language.name} ${kB(language.bytes)}, page ${page.name} ${kB(page.bytes)})`;
      if (language.bytes === 0 || page.bytes === 0)
        this.error(`initial-size found no language or no page chunk. ${line}`);
      if (total > options.budgetBytes) this.error(`Over budget: ${line}`);
      this.info(line);
    },
  };
}

function reach(chunks: Rolldown.OutputChunk[], from: Rolldown.OutputChunk[]): Set<string> {
  const seen = new Set<string>();
  const visit = (chunk: Rolldown.OutputChunk | undefined): void => {
    if (!chunk || seen.has(chunk.fileName)) return;
    seen.add(chunk.fileName);
    for (const name of chunk.imports) visit(chunks.find((other) => other.fileName === name));
  };
  for (const chunk of from) visit(chunk);
  return seen;
}
