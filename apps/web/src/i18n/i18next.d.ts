import 'i18next';
import type { first } from './en/first.ts';
import type { later } from './en/later.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: typeof first & typeof later };
  }
}
