import { useTranslation } from 'react-i18next';
import type { SetupState } from '@station/protocol/rest';
import { createSend, type Problem } from '../../api/request.ts';
import { formatExact } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Field } from '../../ui/fields.tsx';
import { textOf } from '../../ui/form.ts';
import {
  type RestoreCalls,
  inspectTimeoutMs,
  type RestoreFields,
  RestoreFlow,
  restoreTimeoutMs,
} from './restore-flow.tsx';

/** Nobody is logged in, so there is no session. */
const send = createSend(fetch.bind(globalThis), () => undefined);

/** The newest backup on the disks of the station; it needs no upload. */
export type FoundBackup = NonNullable<NonNullable<SetupState['lost']>['backup']>;

/** Restores a backup onto a station without an account; the set-up code is the permission. */
export function SetupRestore({ found, onRestored }: { found: FoundBackup | null; onRestored: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const calls: RestoreCalls = {
    begin: ({ bytes, name }, form) =>
      send('POST /api/setup/backup/uploads', { body: { bytes, name, code: textOf(form, 'code').trim() } }),
    found: found && {
      text: t('backup.restore.onStation', {
        place: t(`backup.list.place.${found.place}`),
        time: formatExact(locale, Date.parse(found.madeAt)),
      }),
      take: (form) => send('POST /api/setup/backup/found', { body: { code: textOf(form, 'code').trim() } }),
    },
    inspect: (upload, passphrase) =>
      send('POST /api/setup/backup/inspect', { body: { upload, passphrase }, timeoutMs: inspectTimeoutMs }),
    restore: async (upload, passphrase, accept) => {
      const body = { upload, passphrase, accept };
      const answer = await send('POST /api/setup/backup/restore', { body, timeoutMs: restoreTimeoutMs });
      onRestored();
      return answer;
    },
  };
  const fields: RestoreFields = {
    named: (problem) => (codeFault(problem) === null ? null : 'code'),
    draw: (problem) => {
      const fault = problem && codeFault(problem);
      return (
        <Field
          label={t('session.setup.code')}
          help={t('session.setup.codeHelp')}
          name="code"
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          fault={fault && t(fault)}
        />
      );
    },
  };
  return <RestoreFlow calls={calls} fields={fields} />;
}

function codeFault({ code, faults }: Problem) {
  if (code === 'setup_code_invalid') return 'error.setup_code_invalid';
  return faults.some(({ pointer }) => pointer === '/code') ? 'error.field.required' : null;
}
