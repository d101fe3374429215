import { KeyRound } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem, type Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import type { SessionService } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { cancelPasskey, offersInField, askPasskey } from './passkey-device.ts';

/** The station accepts an answer for five minutes. */
const renewMs = 4 * 60_000;

type Fault = Problem | 'failed' | null;

/** Log-in with a passkey: by a button, and in the list of the e-mail field where the browser has that. */
export function PasskeyLogin() {
  const { t } = useTranslation();
  const { session } = useServices();
  const [asking, setAsking] = useState(false);
  const [fault, setFault] = useState<Fault>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (asking) return;
    let isOver = false;
    const renew = setTimeout(() => setRound((past) => past + 1), renewMs);
    void offer(session, () => isOver).then((found) => {
      // What the station refused is offered again later; the button asks at once.
      if (!isOver && found !== null) setFault(found);
    });
    return () => {
      isOver = true;
      clearTimeout(renew);
      cancelPasskey();
    };
  }, [session, asking, round]);
  const ask = async (): Promise<void> => {
    setAsking(true);
    setFault(null);
    setFault(await logIn(session, false));
    setAsking(false);
  };
  return (
    <div className="mt-4 space-y-4">
      {fault === 'failed' && <p role="alert">{t('session.login.passkeyFailed')}</p>}
      {fault !== null && fault !== 'failed' && <ProblemNote error={fault} />}
      <Button busy={asking} className="w-full" onClick={() => void ask()}>
        <KeyRound aria-hidden className="size-5" />
        {t('session.login.passkey')}
      </Button>
    </div>
  );
}

/** Offers the passkeys in the list of the field. @returns what went wrong after the person chose one; null: nothing. */
async function offer(session: SessionService, isOver: () => boolean): Promise<Fault> {
  if (!(await offersInField()) || isOver()) return null;
  return logIn(session, true);
}

async function logIn(session: SessionService, inField: boolean): Promise<Fault> {
  try {
    const made = await askPasskey(await session.passkeyRequest(), { inField });
    if (made.kind === 'done') await session.logInWithPasskey({ credential: made.credential });
    return made.kind === 'failed' && !inField ? 'failed' : null;
  } catch (error) {
    const problem = asProblem(error);
    // Nobody asked for it: the station may be restarting.
    return inField && problem.code !== 'passkey_unknown' ? null : problem;
  }
}
