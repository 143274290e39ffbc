"""The command line, one module for each question a reader has.

Read in this order: ``exit_codes``, ``output``, ``wording``, ``session``, ``app``, then the questions: ``setting_up``
(init, doctor), ``running`` (run, status), ``looking`` (units, explain), ``planning`` (plan), ``proposing`` (proposals,
show), ``deciding`` (approve, reject, strike), ``looking_back`` (history, outcomes, audit), ``pinning``; ``main`` puts
them together.
"""
