import { useEffect, useRef, useState } from 'react';
import { type AskToLeave, useServices } from './services.ts';

type LeaveGuard = {
  /** Leaves the page; null while nobody wants to. */
  leave: (() => void) | null;
  stay(): void;
  /** From now on the page is left without a question. */
  release(): void;
};

/** @param isDirty whether the page has changes that would be lost */
export function useLeaveGuard(isDirty: boolean): LeaveGuard {
  const { leaving } = useServices();
  const [leave, setLeave] = useState<(() => void) | null>(null);
  const isReleased = useRef(false);
  useEffect(() => {
    if (!isDirty) return undefined;
    const ask: AskToLeave = (go) => {
      if (isReleased.current) go();
      else setLeave(() => go);
    };
    leaving.set(ask);
    const here = location.href;
    // Before the router hears it: the address comes back, and the page stays until the person has answered.
    const onBack = (event: PopStateEvent): void => {
      if (isReleased.current) return;
      const there = location.href;
      if (there === here) return;
      event.stopImmediatePropagation();
      history.pushState(null, '', here);
      setLeave(() => () => {
        isReleased.current = true;
        history.back();
      });
    };
    const onUnload = (event: BeforeUnloadEvent): void => {
      if (!isReleased.current) event.preventDefault();
    };
    addEventListener('popstate', onBack, { capture: true });
    addEventListener('beforeunload', onUnload);
    return () => {
      leaving.set(null);
      removeEventListener('popstate', onBack, { capture: true });
      removeEventListener('beforeunload', onUnload);
    };
  }, [isDirty, leaving]);
  return {
    leave:
      leave &&
      (() => {
        isReleased.current = true;
        leave();
      }),
    stay: () => setLeave(null),
    release: () => {
      isReleased.current = true;
    },
  };
}
