import type { QueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Candidate, Provisioning, ProvisioningView } from '@station/protocol/provisioning';
import type { ServerMessage } from '@station/protocol/socket';
import type { LiveService } from '../../api/live.ts';
import { useServices } from '../../api/services.ts';

export const provisioningKey = ['provisioning'];

/** Messages within this time are drawn together. */
const gatherMs = 100;

/** Updates the view from the station's messages while a page shows it. The first page of the app has no room for it. */
export function useFollowProvisioning(): void {
  const { live, queries } = useServices();
  useEffect(() => followProvisioning(live, queries), [live, queries]);
}

function followProvisioning(live: LiveService, queries: QueryClient): () => void {
  let gathered: ServerMessage[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const apply = (): void => {
    const messages = gathered;
    gathered = [];
    timer = undefined;
    queries.setQueryData<ProvisioningView>(provisioningKey, (view) => view && messages.reduce(withMessage, view));
  };
  const stop = live.onMessage((message) => {
    if (message.type === 'hello') void queries.invalidateQueries({ queryKey: provisioningKey });
    if (!message.type.startsWith('provisioning_')) return;
    gathered.push(message);
    timer ??= setTimeout(apply, gatherMs);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/** The view after a message; the same object when the message changes nothing. */
export function withMessage(view: ProvisioningView, message: ServerMessage): ProvisioningView {
  if (message.type === 'provisioning_candidate')
    return { ...view, candidates: withCandidate(view.candidates, message.candidate) };
  if (message.type === 'provisioning_radio') return { ...view, radio: message.radio };
  if (message.type === 'provisioning_progress')
    return { ...view, provisionings: withProvisioning(view.provisionings, message.provisioning) };
  if (message.type !== 'provisioning_candidate_lost') return view;
  const candidates = view.candidates.filter(({ address }) => address !== message.address);
  return candidates.length === view.candidates.length ? view : { ...view, candidates };
}

/** The view that was read, with every step that is known to be later: a message may overtake the answer to a read. */
export function withRead(known: ProvisioningView | undefined, read: ProvisioningView): ProvisioningView {
  if (known === undefined) return read;
  return { ...read, provisionings: known.provisionings.reduce(withLater, read.provisionings) };
}

const withCandidate = (candidates: Candidate[], candidate: Candidate): Candidate[] =>
  candidates.some(({ address }) => address === candidate.address)
    ? candidates.map((one) => (one.address === candidate.address ? candidate : one))
    : [...candidates, candidate];

function withProvisioning(all: Provisioning[], changed: Provisioning): Provisioning[] {
  return all.some(({ id }) => id === changed.id) ? withLater(all, changed) : [changed, ...all];
}

/** The station's form of ISO 8601 sorts as text. */
const withLater = (all: Provisioning[], known: Provisioning): Provisioning[] =>
  all.map((one) => (one.id === known.id && known.changedAt > one.changedAt ? known : one));
