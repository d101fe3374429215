import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv } from 'vite';
import { initialSize } from './initial-size.ts';

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
        alwaysBeside: (id) => /\/i18n\/(en|uk)\.ts$/.test(id),
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
