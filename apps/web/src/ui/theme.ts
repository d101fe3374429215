import type { Memory } from '../api/memory.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export const readTheme = (memory: Memory): Theme => themes.find((one) => one === memory.get('theme')) ?? 'system';

/** Remembers it in this browser, and draws the page in it. */
export function chooseTheme(memory: Memory, theme: Theme): void {
  memory.set('theme', theme === 'system' ? null : theme);
  drawTheme(theme);
}

const dark = '(prefers-color-scheme: dark)';

/** `styles.css` has the colours of `data-theme`. Called before the first picture. */
export function startTheme(memory: Memory): void {
  drawTheme(readTheme(memory));
  matchMedia(dark).addEventListener('change', () => drawTheme(readTheme(memory)));
}

function drawTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] =
    theme === 'system' ? (matchMedia(dark).matches ? 'dark' : 'light') : theme;
}
