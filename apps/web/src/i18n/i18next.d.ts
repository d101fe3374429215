import 'i18next';
import type { AreaTexts } from './areas.ts';
import type { conditionTitle } from '@station/protocol/condition-titles-en';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: AreaTexts & { conditionTitle: typeof conditionTitle } };
  }
}
