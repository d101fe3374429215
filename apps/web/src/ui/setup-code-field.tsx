import { useTranslation } from 'react-i18next';
import type { Problem } from '../api/request.ts';
import { Field } from './fields.tsx';

/** Its name in a form. */
export const setupCodeName = 'code';

export const isSetupCodeWrong = (problem: Problem | null): boolean => problem?.code === 'setup_code_invalid';

/** The code that the station shows. `fault`: what else is wrong with it. */
export function SetupCodeField({ problem, fault }: { problem: Problem | null; fault: string | null }) {
  const { t } = useTranslation();
  return (
    <Field
      label={t('session.setup.code')}
      help={t('session.setup.codeHelp')}
      name={setupCodeName}
      autoComplete="one-time-code"
      autoCapitalize="characters"
      spellCheck={false}
      fault={fault ?? (isSetupCodeWrong(problem) ? t('error.setup_code_invalid') : null)}
    />
  );
}
